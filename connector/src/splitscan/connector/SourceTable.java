package splitscan.connector;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What a user named by options. Python says with the first query who reads it, once for all queries of a DataFrame,
 * and has the error that nothing is written.
 */
final class SourceTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns {
  private static final Set<TableCapability> CAPABILITIES =
      EnumSet.of(
          TableCapability.BATCH_READ,
          TableCapability.BATCH_WRITE,
          TableCapability.MICRO_BATCH_READ,
          TableCapability.STREAMING_WRITE,
          TableCapability.TRUNCATE);

  private final StructType schema;
  private final Question question; // null where all is planned already
  private Table python;
  private String reason; // why Python reads
  private volatile boolean isStream;
  private boolean showsMetadata; // of a stream
  private Plan plan;

  SourceTable(StructType schema, Question question) {
    this.schema = schema;
    this.question = question;
  }

  SourceTable(StructType schema, Plan plan) {
    this(schema, (Question) null);
    this.plan = plan;
  }

  @Override
  public String name() {
    return DefaultSource.NAME;
  }

  // Spark 4 would rather have columns(); its default makes them of this, in every version.
  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  /**
   * Those of Spark's tables of Python. Spark asks for {@code MICRO_BATCH_READ} where a stream is made, and before it asks
   * for metadata columns; nothing else tells the two apart. A scan that is planned already can only be read.
   */
  @Override
  public Set<TableCapability> capabilities() {
    return new HashSet<>(question == null ? Set.of(TableCapability.BATCH_READ) : CAPABILITIES) {
      @Override
      public boolean contains(Object capability) {
        isStream |= capability == TableCapability.MICRO_BATCH_READ;
        return super.contains(capability);
      }
    };
  }

  /** None of streams that Python reads: Spark would take the column from memory behind its rows. */
  @Override
  public synchronized MetadataColumn[] metadataColumns() {
    if (isStream) {
      decide();
      showsMetadata = plan != null && !Arrays.asList(schema.fieldNames()).contains(Metadata.NAME);
    }
    return isStream && python != null ? new MetadataColumn[0] : Metadata.COLUMNS;
  }

  @Override
  public synchronized ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    decide();
    if (plan == null) {
      var own = new CaseInsensitiveStringMap(question.options());
      return new PythonScanBuilder(((SupportsRead) python).newScanBuilder(own), schema, reason);
    }
    var builder = new PlanScanBuilder(schema, plan);
    if (showsMetadata) { // Spark wants it perhaps, and asks no stream; if not, it takes the columns before it
      builder.pruneColumns(schema.add(Metadata.NAME, Metadata.COLUMNS[0].dataType(), false));
    }
    return builder;
  }

  /** Asks Python who reads. */
  private void decide() {
    if (plan == null && python == null) {
      String failure = Library.whyNot(SparkSession.active().sparkContext());
      String kind = failure != null ? "python" : isStream ? "stream" : "plan";
      Question.Answer answer = question.ask(kind, schema, Map.of());
      if (answer.isPython()) {
        python = pythonTable();
        reason = failure == null ? answer.rest() : failure;
      } else {
        plan = Plan.of(answer.lines(), this::tasks, readers -> new PlanStream(question, schema, readers));
      }
    }
  }

  @Override
  public synchronized WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    if (python == null) {
      question.ask("python", schema, Map.of());
      python = pythonTable();
    }
    return ((SupportsWrite) python).newWriteBuilder(info);
  }

  private String[] tasks(String conditions, long limit) {
    return question.ask("tasks", schema, Map.of("conditions", conditions, "limit", Long.toString(limit))).lines();
  }

  private Table pythonTable() {
    return PythonSource.table(schema, question.options(), question.inferred());
  }
}
