package splitscan.connector;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * What Python is asked about one DataFrame.
 *
 * @param id by which Python knows what it found when it was asked before
 * @param options as the user gave them
 * @param inferred whether Python finds the schema; else the user gave one
 */
record Question(String id, Map<String, String> options, boolean inferred) {
  private static final int VERSION = 5; // of questions and answers
  private static final String SETTING = "spark.splitscan.connector";
  private static final String ZONE = "spark.sql.session.timeZone";
  private static final String OF_TABLE = "option."; // how the catalog spells an option
  private static final String PARALLELISM = "spark.sql.leafNodeDefaultParallelism";

  Question(Map<String, String> properties, boolean inferred) {
    this(UUID.randomUUID().toString(), given(properties), inferred);
  }

  /** Options; those of a table of Spark's catalog are among its properties, which have an owner. */
  private static Map<String, String> given(Map<String, String> properties) {
    if (!properties.containsKey("owner") || !properties.containsKey("provider")) {
      return properties;
    }
    var options = new TreeMap<String, String>();
    options.put("path", properties.get("path"));
    for (var each : properties.entrySet()) {
      if (each.getKey().startsWith(OF_TABLE)) {
        options.put(each.getKey().substring(OF_TABLE.length()), each.getValue());
      }
    }
    return options;
  }

  /** An answer: its kind, and documents, one a line. */
  record Answer(String kind, String rest) {
    /** Whether Python is to do it itself. */
    boolean isPython() {
      return kind.equals("python");
    }

    String[] lines() {
      return rest.isEmpty() ? new String[0] : rest.split("\n");
    }
  }

  /**
   * Asks Python.
   *
   * @param about {@code schema}, {@code plan}, {@code tasks}, {@code stream}, one of the questions of {@link PlanStream},
   *     or {@code python} for the Python source to be ready
   * @param schema the final schema, or null where it is asked for
   * @param details what else there is to know, by name
   */
  Answer ask(String about, StructType schema, Map<String, String> details) {
    SparkSession session = SparkSession.active();
    String slots = session.conf().get(PARALLELISM, null);
    var question = new TreeMap<>(details);
    question.put("version", Integer.toString(VERSION));
    question.put("connector", Question.class.getPackage().getImplementationVersion());
    question.put("about", about);
    question.put("id", id);
    question.put("inferred", Boolean.toString(inferred));
    question.put("schema", schema == null ? "" : schema.json());
    question.put("setting", session.conf().get(SETTING, ""));
    question.put("timeZone", session.conf().get(ZONE));
    question.put(
        "slots",
        slots == null ? Integer.toString(session.sparkContext().defaultParallelism()) : slots);
    String document = "{\"options\":" + object(options) + "," + object(question).substring(1);
    String[] answer = Planner.ask(document, session).split("\n", 2);
    String[] head = answer[0].split(" ");
    String rest = answer.length == 2 ? answer[1] : "";
    if (head.length != 2 || !head[1].equals(Integer.toString(VERSION))) {
      throw PlanningError.of(
          "Python answers the connector in words of another version [other-connector]\n  seen:  "
              + answer[0]
              + "\n  fix:   install one version of splitscan, and attach its jar");
    }
    if (head[0].equals("error")) {
      throw PlanningError.of(rest);
    }
    return new Answer(head[0], rest);
  }

  /** Texts by their names, in JSON. */
  private static String object(Map<String, String> texts) {
    return texts.entrySet().stream()
        .map(each -> quoted(each.getKey()) + ":" + quoted(Objects.requireNonNullElse(each.getValue(), "")))
        .collect(Collectors.joining(",", "{", "}"));
  }

  /** A text in JSON. */
  static String quoted(String text) {
    var json = new StringBuilder("\"");
    for (char unit : text.toCharArray()) {
      if (unit == '"' || unit == '\\') {
        json.append('\\').append(unit);
      } else if (unit < ' ' || Character.isSurrogate(unit)) {
        json.append(String.format("\\u%04x", (int) unit));
      } else {
        json.append(unit);
      }
    }
    return json.append('"').toString();
  }
}
