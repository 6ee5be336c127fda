package splitscan.connector;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** What Spark wants of columns with one value for a file. Python leaves out the files for which it cannot be true. */
final class FileConditions {
  static final String NONE = "";

  private FileConditions() {}

  /** Those of the conditions that speak of columns of files alone. */
  static Predicate[] of(Predicate[] conditions, Set<String> fileColumns) {
    return Arrays.stream(conditions)
        .filter(condition -> condition.references().length > 0)
        .filter(
            condition ->
                Arrays.stream(condition.references())
                    .allMatch(column -> fileColumns.contains(nameOf(column))))
        .toArray(Predicate[]::new);
  }

  /** The name of a column; of a member behind a dot. */
  static String nameOf(NamedReference column) {
    return String.join(".", column.fieldNames());
  }

  /** Conditions as Python reads them, a list in JSON: {@link #NONE} where there is none. */
  static String json(Stream<Predicate> conditions) {
    String listed = list(conditions.toArray(Expression[]::new));
    return listed.equals("[]") ? NONE : listed;
  }

  private static String list(Expression[] parts) {
    return Arrays.stream(parts).map(FileConditions::json).collect(Collectors.joining(",", "[", "]"));
  }

  private static String json(Expression part) {
    if (part instanceof NamedReference column) {
      return "{\"column\":" + Question.quoted(nameOf(column)) + "}";
    }
    if (part instanceof Literal<?> literal) {
      String value = literal.value() == null ? "null" : Question.quoted(literal.value().toString());
      return "{\"type\":" + Question.quoted(literal.dataType().typeName()) + ",\"value\":" + value + "}";
    }
    if (part instanceof Predicate condition) {
      return "{\"is\":" + Question.quoted(condition.name()) + ",\"of\":" + list(condition.children()) + "}";
    }
    return "{}";
  }
}
