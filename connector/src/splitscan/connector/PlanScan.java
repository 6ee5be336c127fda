package splitscan.connector;

import java.util.Arrays;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** A planned scan of some columns and files, up to a number of rows a task. */
final class PlanScan implements SupportsReportStatistics, SupportsRuntimeV2Filtering, Batch {
  static final long NO_LIMIT = -1;

  /** In place of a limit: rows are counted, and nothing else is done with them. */
  static final long COUNT = -2;

  private static final long ROW_OVERHEAD_BYTES = 8; // as Spark counts one in its own estimates

  private final StructType schema;
  private final StructType wanted;
  private final Plan plan;
  private final Predicate[] conditions;
  private final long limit;
  private Predicate[] found = {}; // conditions that another part of the query has found

  PlanScan(StructType schema, StructType wanted, Plan plan, Predicate[] conditions, long limit) {
    this.schema = schema;
    this.wanted = wanted;
    this.plan = plan;
    this.conditions = conditions;
    this.limit = limit;
  }

  @Override
  public StructType readSchema() {
    return wanted;
  }

  @Override
  public String description() {
    String files = Stream.of(conditions).map(Predicate::toString).collect(Collectors.joining(" AND "));
    return plan.name()
        + (files.isEmpty() ? "" : ", files " + files)
        + (limit < 0 ? "" : ", limit " + limit);
  }

  // Otherwise Spark plans the partitions twice, to ask each for its way.
  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  /** The bytes of the files, by the share of the wanted columns in a row. */
  @Override
  public Statistics estimateStatistics() {
    double share =
        (double) (wanted.defaultSize() + ROW_OVERHEAD_BYTES)
            / (schema.defaultSize() + ROW_OVERHEAD_BYTES);
    OptionalLong size = OptionalLong.of((long) Math.ceil(plan.sizeBytes() * share));
    return new Sizes(size, OptionalLong.empty());
  }

  private record Sizes(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {}

  @Override
  public NamedReference[] filterAttributes() {
    return Arrays.stream(wanted.fieldNames())
        .filter(plan.fileColumns()::contains)
        .map(name -> Expressions.column("`" + name.replace("`", "``") + "`"))
        .toArray(NamedReference[]::new);
  }

  /** Spark plans the partitions after this once more. */
  @Override
  public void filter(Predicate[] predicates) {
    found = FileConditions.of(predicates, plan.fileColumns());
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    return plan.stream().apply(createReaderFactory());
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return ScanMetric.all();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    // _metadata says how files are cut, whatever the limit
    boolean showsBlocks = Arrays.asList(wanted.fieldNames()).contains(Metadata.NAME);
    String files = FileConditions.json(Stream.of(conditions, found).flatMap(Stream::of));
    return BlocksReaderFactory.tasks(plan.planned().apply(files, showsBlocks ? NO_LIMIT : limit));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new BlocksReaderFactory(plan.spec(), wanted, limit, plan.hadoop());
  }
}
