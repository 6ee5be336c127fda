package splitscan.connector;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source of a plan that {@code scan.to_spark} made; Spark finds it by the name of this class.
 *
 * <p>It has no short name: users read by {@code format("splitscan")}.
 */
public final class PlanSource implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException(
        "a plan is read with its schema [no-schema]\n  fix:   call scan.to_spark(spark)");
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new SourceTable(schema, Plan.of(new CaseInsensitiveStringMap(properties)));
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
