package splitscan.connector;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkContext;

/**
 * Loads the native library that the jar carries.
 *
 * <p>A JVM refuses one file for two class loaders, so each loader extracts a copy under a name of its own; it is
 * deleted as soon as it is loaded, where the system allows that.
 */
final class Library {
  /** Names a library to load in place of the one in the jar: a copy for each class loader is made of it, too. */
  static final String VARIABLE = "SPLITSCAN_CONNECTOR_LIBRARY";

  private static final System.Logger LOG = System.getLogger("splitscan");
  private static final AtomicBoolean SAID = new AtomicBoolean();

  private Library() {}

  /** The one attempt, made where somebody first looks at it: a driver of a cluster loads nothing. */
  private static final class Attempt {
    private static final String FAILURE = tryToLoad(); // null where it is loaded; another one would not go better
  }

  /** Makes sure that it is loaded for this class loader. */
  static void load() {
    if (Attempt.FAILURE != null) {
      throw new ScanException(Attempt.FAILURE);
    }
  }

  /**
   * Why the tasks of a session cannot read with it, in one line, where they run in this JVM: a warning says it once. Null
   * if they can, or run elsewhere: then each of their machines tells.
   */
  static String whyNot(SparkContext context) {
    if (!context.isLocal() || Attempt.FAILURE == null) {
      return null;
    }
    String reason = Attempt.FAILURE.replaceAll("\\s*\n\\s*", "; ");
    if (SAID.compareAndSet(false, true)) {
      LOG.log(System.Logger.Level.WARNING, "Python workers read for Spark: " + reason);
    }
    return reason;
  }

  /** Loads a copy from the first folder where that works; null, or what went wrong. */
  private static String tryToLoad() {
    String given = System.getenv(VARIABLE);
    String resource = resourceName();
    if (given == null && Library.class.getResource(resource) == null) {
      return problem("the connector has no native library for this platform", resource);
    }
    List<String> seen = new ArrayList<>();
    for (String folder : folders()) {
      Path copy = null;
      try {
        copy = Files.createTempFile(Path.of(folder), "splitscan-", System.mapLibraryName(""));
        try (InputStream in = open(given, resource)) {
          Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
        }
        System.load(copy.toAbsolutePath().toString());
        return null;
      } catch (IOException | UnsatisfiedLinkError | RuntimeException error) {
        seen.add(folder + ": " + error);
      } finally {
        delete(copy);
      }
    }
    return problem("the native library of the connector cannot be loaded", String.join("; ", seen));
  }

  private static InputStream open(String given, String resource) throws IOException {
    return given == null
        ? Library.class.getResourceAsStream(resource)
        : Files.newInputStream(Path.of(given));
  }

  /** Where copies may lie: Spark's own folders first, because /tmp may be small, read-only or not executable. */
  private static Set<String> folders() {
    Set<String> folders = new LinkedHashSet<>();
    for (String variable : List.of("SPARK_EXECUTOR_DIRS", "SPARK_LOCAL_DIRS", "LOCAL_DIRS")) {
      String value = System.getenv(variable);
      if (value != null) {
        folders.addAll(List.of(value.split("[,:]")));
      }
    }
    folders.add(System.getProperty("java.io.tmpdir"));
    folders.add(System.getProperty("user.dir"));
    folders.removeIf(String::isBlank);
    return folders;
  }

  private static String resourceName() {
    String name = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String system = name.startsWith("mac") ? "macos" : name.startsWith("win") ? "windows" : "linux";
    String machine =
        switch (System.getProperty("os.arch")) {
          case "amd64", "x86_64" -> "x86_64";
          case "aarch64", "arm64" -> "aarch64";
          default -> System.getProperty("os.arch");
        };
    return "native/" + system + "-" + machine + "/" + System.mapLibraryName("splitscan_jvm");
  }

  private static void delete(Path copy) {
    if (copy == null) {
      return;
    }
    try {
      Files.deleteIfExists(copy);
    } catch (IOException error) { // Windows keeps what is loaded
      copy.toFile().deleteOnExit();
    }
  }

  private static String problem(String rule, String seen) {
    return rule
        + " [no-connector]\n  seen:  " + seen
        + "\n  fix:   set " + VARIABLE + " to the library on every machine,"
        + " or spark.splitscan.connector=false in the session, for Python to read";
  }
}
