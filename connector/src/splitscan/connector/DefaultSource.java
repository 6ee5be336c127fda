package splitscan.connector;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source {@code splitscan}: Python says which columns there are and who reads them.
 *
 * <p>Where its jar is, Spark finds it before a Python source of the same name, to which it hands over what only Python
 * reads. Spark makes one for each DataFrame, and many only to ask for their names.
 */
public final class DefaultSource implements TableProvider, DataSourceRegister {
  static final String NAME = "splitscan";

  private Question asked; // for the schema, by the one who will want the table
  private TableProvider python; // that found the schema

  @Override
  public String shortName() {
    return NAME;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    asked = new Question(options.asCaseSensitiveMap(), true);
    Question.Answer answer = asked.ask("schema", null, Map.of());
    if (answer.isPython()) {
      python = PythonSource.provider();
      return PythonSource.schema(python, new CaseInsensitiveStringMap(asked.options()));
    }
    return (StructType) DataType.fromJson(answer.rest());
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    if (python != null) {
      return python.getTable(schema, partitioning, asked.options());
    }
    Planner.prepare();
    Question question = asked == null ? new Question(properties, false) : asked;
    return new SourceTable(schema, question);
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
