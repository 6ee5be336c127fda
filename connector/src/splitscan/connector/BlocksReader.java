package splitscan.connector;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads the blocks of a task, batch after batch, on the thread of the task.
 *
 * <p>A batch is lent until the next call of {@code next} or {@code close}: its memory belongs to the kernel.
 */
final class BlocksReader implements PartitionReader<ColumnarBatch> {
  private static final System.Logger LOG = System.getLogger("splitscan");

  private final List<ArrowColumn> columns = new ArrayList<>();
  private final ColumnarBatch batch;
  private final long[] numbers;
  private final HadoopFiles files;
  private long nanos;
  private long reader;

  BlocksReader(String spec, String blocks, StructType wanted, long limit, HadoopFiles files) {
    this.files = files;
    for (var field : wanted.fields()) {
      columns.add(new ArrowColumn(field.dataType()));
    }
    batch = new ColumnarBatch(columns.toArray(new ColumnVector[0]));
    int nodes = columns.stream().mapToInt(ArrowColumn::nodes).sum();
    numbers = new long[Kernel.PROGRESS + ArrowColumn.PLACES * nodes];
    Library.load();
    reader = Kernel.open(spec, blocks, wanted.json(), limit, files);
  }

  @Override
  public boolean next() {
    if (reader == 0) {
      return false;
    }
    long began = System.nanoTime();
    int rows = Kernel.next(reader, numbers);
    nanos += System.nanoTime() - began;
    if (rows == Kernel.INTERRUPTED) {
      throw new TaskKilledException();
    }
    if (rows < 0) {
      close();
      return false;
    }
    int at = Kernel.PROGRESS;
    for (var column : columns) {
      at = column.moveTo(numbers, at);
    }
    batch.setNumRows(rows);
    return true;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return ScanMetric.values(numbers, nanos);
  }

  @Override
  public void close() {
    if (reader != 0) {
      long closing = reader;
      reader = 0;
      if (files != null) {
        files.close();
      }
      String losses = Kernel.close(closing);
      if (losses != null) {
        LOG.log(System.Logger.Level.WARNING, losses);
      }
    }
  }
}
