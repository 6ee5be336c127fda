package splitscan.connector;

import java.util.Arrays;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.StructType;

/**
 * A scan by Python, which reads whole rows.
 *
 * @param python Spark's own builder
 * @param schema of the rows
 * @param reason why Python reads
 */
record PythonScanBuilder(ScanBuilder python, StructType schema, String reason)
    implements SupportsPushDownRequiredColumns {
  /** Python has no {@code _metadata}; Spark takes the columns it wants out of the rows. */
  @Override
  public void pruneColumns(StructType required) {
    boolean isOwn = Arrays.asList(schema.fieldNames()).contains(Metadata.NAME);
    if (!isOwn && Arrays.asList(required.fieldNames()).contains(Metadata.NAME)) {
      throw PlanningError.of(
          "Python reads this scan, and has no column _metadata [unsupported-scan]\n  seen:  "
              + reason
              + "\n  fix:   name columns in option metadataColumns, such as file_path,record_offset");
    }
  }

  @Override
  public Scan build() {
    return python.build();
  }
}
