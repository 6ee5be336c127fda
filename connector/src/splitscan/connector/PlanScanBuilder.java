package splitscan.connector;

import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;

/** Takes which columns, files and how many rows Spark wants. One for each scan in a query. */
final class PlanScanBuilder
    implements SupportsPushDownRequiredColumns,
        SupportsPushDownV2Filters,
        SupportsPushDownAggregates,
        SupportsPushDownLimit {
  private final StructType schema;
  private final Plan plan;
  private Predicate[] conditions = {};
  private StructType wanted;
  private long limit;

  PlanScanBuilder(StructType schema, Plan plan) {
    this.schema = schema;
    this.plan = plan;
    this.wanted = schema;
    this.limit = plan.limit();
  }

  /** Takes the columns and members that are wanted; those of {@code _metadata} are among them. */
  @Override
  public void pruneColumns(StructType required) {
    wanted = required;
  }

  /** Takes those of files; Spark checks all of them in each row, too. */
  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    conditions = FileConditions.of(predicates, plan.fileColumns());
    return predicates;
  }

  @Override
  public Predicate[] pushedPredicates() {
    return conditions;
  }

  /** Takes none, but notes where rows are counted and nothing else is wanted of them: planning may know the number. */
  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    AggregateFunc[] functions = aggregation.aggregateExpressions();
    boolean counts = functions.length == 1 && functions[0] instanceof CountStar;
    if (counts && aggregation.groupByExpressions().length == 0 && limit == PlanScan.NO_LIMIT) {
      limit = PlanScan.COUNT;
    }
    return false;
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
    boolean counts = limit == PlanScan.COUNT && wanted.isEmpty();
    return new PlanScan(schema, wanted, plan, conditions, limit < 0 && !counts ? PlanScan.NO_LIMIT : limit);
  }
}
