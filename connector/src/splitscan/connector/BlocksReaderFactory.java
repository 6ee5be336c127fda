package splitscan.connector;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Makes the reader of a task, in its executor.
 *
 * @param spec what every task must know, as the kernel reads it
 * @param wanted the columns to deliver
 * @param limit most rows of a task, or {@link PlanScan#NO_LIMIT}
 * @param hadoop the driver's settings of Hadoop, which reads the files; null where the kernel does
 */
record BlocksReaderFactory(String spec, StructType wanted, long limit, SerializableConfiguration hadoop)
    implements PartitionReaderFactory {
  /** The blocks of one task, as the document that Python wrote of them. */
  record Task(String blocks) implements InputPartition {}

  /** Tasks by their documents. */
  static InputPartition[] tasks(String[] documents) {
    return Arrays.stream(documents).map(Task::new).toArray(InputPartition[]::new);
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    var files = hadoop == null ? null : new HadoopFiles(hadoop.value());
    return new BlocksReader(spec, ((Task) partition).blocks(), wanted, limit, files);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new IllegalStateException("Spark asks for rows of a reader that has columns only");
  }
}
