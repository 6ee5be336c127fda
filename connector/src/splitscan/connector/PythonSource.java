package splitscan.connector;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's own way to the Python data source of the same name, which this one hides: the one door to its internals. */
final class PythonSource {
  private static final String CLASS =
      "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2";
  private static final String NOT_FOUND = "DATA_SOURCE_NOT_EXIST";

  private PythonSource() {}

  /** The table that Spark would have without this connector. */
  static Table table(StructType schema, Map<String, String> options, boolean inferred) {
    TableProvider provider = provider();
    if (inferred) { // so that Python does not take the schema for the user's
      schema(provider, new CaseInsensitiveStringMap(options));
    }
    return provider.getTable(schema, new Transform[0], options);
  }

  static StructType schema(TableProvider provider, CaseInsensitiveStringMap options) {
    try {
      return provider.inferSchema(options);
    } catch (Exception error) { // Spark declares nothing, and throws what is checked
      throw explained(error);
    }
  }

  static TableProvider provider() {
    try {
      Class<?> found = Class.forName(CLASS);
      Object provider = found.getConstructor().newInstance();
      found.getMethod("setShortName", String.class).invoke(provider, DefaultSource.NAME);
      return (TableProvider) provider;
    } catch (ReflectiveOperationException error) {
      throw PlanningError.of(
          "this version of Spark has no door to its Python data sources [no-connector]\n  seen:  "
              + error
              + "\n  fix:   use Spark 4.0 to 4.3, or take the connector's jar away");
    }
  }

  private static RuntimeException explained(Exception error) {
    if (error.getMessage() != null && error.getMessage().contains(NOT_FOUND)) {
      return PlanningError.of(
          "Python reads this scan, and Spark's Python has no splitscan [wrong-python]\n  seen:  "
              + error.getMessage()
              + "\n  fix:   call splitscan.register(spark), or set PYSPARK_PYTHON to a Python that has it");
    }
    return PlanningError.of(error);
  }
}
