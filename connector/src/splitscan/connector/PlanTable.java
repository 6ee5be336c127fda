package splitscan.connector;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A planned scan as a table. */
final class PlanTable implements SupportsRead, SupportsMetadataColumns {
  private final StructType schema;
  private final Plan plan;

  PlanTable(StructType schema, Plan plan) {
    this.schema = schema;
    this.plan = plan;
  }

  @Override
  public String name() {
    return "splitscan";
  }

  // Spark 4 would rather have columns(); its default makes them of this, in every version.
  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return Metadata.COLUMNS;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new PlanScanBuilder(schema, plan);
  }
}
