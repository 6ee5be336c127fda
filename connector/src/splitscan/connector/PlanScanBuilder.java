package splitscan.connector;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Takes which columns and how many rows Spark wants. One for each scan in a query. */
final class PlanScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownLimit {
  private final StructType schema;
  private final Plan plan;
  private StructType wanted;
  private long limit;

  PlanScanBuilder(StructType schema, Plan plan) {
    this.schema = schema;
    this.plan = plan;
    this.wanted = schema;
    this.limit = plan.limit();
  }

  /** Keeps the columns that are wanted, each with all of its members. */
  @Override
  public void pruneColumns(StructType required) {
    Set<String> names = new HashSet<>(Arrays.asList(required.fieldNames()));
    wanted =
        new StructType(
            Arrays.stream(schema.fields())
                .filter(field -> names.contains(field.name()))
                .toArray(StructField[]::new));
  }

  @Override
  public boolean pushLimit(int rows) {
    limit = limit == PlanScan.NO_LIMIT ? rows : Math.min(limit, rows);
    return true;
  }

  /** Every task stops at the limit; Spark takes as many of their rows. */
  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public Scan build() {
    return new PlanScan(schema, wanted, plan, limit);
  }
}
