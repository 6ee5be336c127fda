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
    var json = new StringBuilder("{");
    if (part instanceof NamedReference column) {
      Question.quote("column", json);
      Question.quote(nameOf(column), json.append(':'));
    } else if (part instanceof Literal<?> literal) {
      Question.quote("type", json);
      Question.quote(literal.dataType().typeName(), json.append(':'));
      Question.quote("value", json.append(','));
      json.append(':');
      if (literal.value() == null) {
        json.append("null");
      } else {
        Question.quote(literal.value().toString(), json);
      }
    } else if (part instanceof Predicate condition) {
      Question.quote("is", json);
      Question.quote(condition.name(), json.append(':'));
      Question.quote("of", json.append(','));
      json.append(':').append(list(condition.children()));
    }
    return json.append('}').toString();
  }
}
