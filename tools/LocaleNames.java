import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.time.DayOfWeek;
import java.time.LocalTime;
import java.time.Month;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import sun.util.locale.provider.LocaleProviderAdapter;

/**
 * Writes the names of months and days, and the symbols of numbers, of the locales that option {@code locale} takes, as
 * the virtual machine of Spark has them (CLDR):
 *
 * <pre>
 * java --add-exports java.base/sun.util.locale.provider=ALL-UNNAMED tools/LocaleNames.java \
 *     > src/splitscan/options/locales.json
 * </pre>
 *
 * <p>A locale of a region or script has only what differs from its language.
 */
final class LocaleNames {
  private static final List<String> LANGUAGES =
      List.of(
          "ar", "bn", "de", "en", "es", "fr", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "ur", "zh");

  private LocaleNames() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, Locale> locales = new TreeMap<>();
    for (Locale locale : Locale.getAvailableLocales()) {
      boolean isPlain = locale.getVariant().isEmpty() && !locale.hasExtensions();
      boolean choosesScript = locale.getScript().isEmpty() || locale.getLanguage().equals("zh");
      if (isPlain && choosesScript && LANGUAGES.contains(locale.toLanguageTag().split("-")[0])) {
        locales.put(locale.toLanguageTag(), locale);
      }
    }
    List<String> lines = new ArrayList<>();
    for (Map.Entry<String, Locale> each : locales.entrySet()) {
      Map<String, String> said = describe(each.getValue());
      String language = each.getValue().getLanguage();
      if (!each.getKey().equals(language)) {
        said.entrySet().removeAll(describe(Locale.forLanguageTag(language)).entrySet());
      }
      String members =
          said.entrySet().stream().map(e -> quote(e.getKey()) + ": " + e.getValue()).collect(Collectors.joining(", "));
      lines.add(quote(each.getKey()) + ": {" + members + "}");
    }
    byte[] text = ("{\n" + String.join(",\n", lines) + "\n}\n").getBytes("UTF-8");
    System.out.write(text, 0, text.length);
    System.out.flush();
  }

  private static Map<String, String> describe(Locale locale) {
    Map<String, String> said = new LinkedHashMap<>();
    for (String letters : List.of("MMM", "MMMM", "LLL", "LLLL")) {
      said.put(letters, names(locale, letters, Month.values()));
    }
    said.put("E", names(locale, "E", DayOfWeek.values()));
    said.put("EEEE", names(locale, "EEEE", DayOfWeek.values()));
    said.put("a", names(locale, "a", LocalTime.of(1, 0), LocalTime.of(13, 0)));
    DecimalFormatSymbols symbols = new DecimalFormatSymbols(locale);
    DecimalFormat format = new DecimalFormat("", symbols); // as Spark makes it
    String pattern = LocaleProviderAdapter.forType(LocaleProviderAdapter.Type.CLDR)
        .getLocaleResources(locale).getNumberPatterns()[0];
    said.put("decimal", quote(String.valueOf(symbols.getDecimalSeparator())));
    said.put("grouping", quote(String.valueOf(symbols.getGroupingSeparator())));
    said.put("minus", quote(format.getNegativePrefix()));
    said.put("zero", quote(String.valueOf(symbols.getZeroDigit())));
    said.put("pairs", String.valueOf(pattern.startsWith("#,##,##0")));
    return said;
  }

  private static String names(Locale locale, String letters, TemporalAccessor... values) {
    DateTimeFormatter format = DateTimeFormatter.ofPattern(letters, locale);
    List<String> names = Arrays.stream(values).map(format::format).collect(Collectors.toList());
    if (names.stream().map(name -> name.toLowerCase(Locale.ROOT)).distinct().count() < values.length) {
      throw new IllegalStateException(locale.toLanguageTag() + ": names of " + letters + " do not differ: " + names);
    }
    return names.stream().map(LocaleNames::quote).collect(Collectors.joining(", ", "[", "]"));
  }

  private static String quote(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      boolean isSeen = Character.isLetterOrDigit(each) || (each >= ' ' && each <= '~' && each != '"' && each != '\\');
      boolean isMark = Character.getType(each) == Character.NON_SPACING_MARK
          || Character.getType(each) == Character.COMBINING_SPACING_MARK;
      quoted.append(isSeen || isMark ? String.valueOf(each) : String.format("\\u%04x", (int) each));
    }
    return quoted.append('"').toString();
  }
}
