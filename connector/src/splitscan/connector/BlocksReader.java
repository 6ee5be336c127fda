package splitscan.connector;

import java.util.ArrayList;
import java.util.List;
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
  private final long[] places;
  private long reader;

  BlocksReader(String spec, String blocks, StructType wanted, long limit) {
    for (var field : wanted.fields()) {
      columns.add(new ArrowColumn(field.dataType()));
    }
    batch = new ColumnarBatch(columns.toArray(new ColumnVector[0]));
    places = new long[ArrowColumn.PLACES * columns.stream().mapToInt(ArrowColumn::nodes).sum()];
    Kernel.load();
    reader = Kernel.open(spec, blocks, wanted.fieldNames(), limit);
  }

  @Override
  public boolean next() {
    if (reader == 0) {
      return false;
    }
    int rows = Kernel.next(reader, places);
    if (rows < 0) {
      close();
      return false;
    }
    int at = 0;
    for (var column : columns) {
      at = column.moveTo(places, at);
    }
    batch.setNumRows(rows);
    return true;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() {
    if (reader != 0) {
      long closing = reader;
      reader = 0;
      String losses = Kernel.close(closing);
      if (losses != null) {
        LOG.log(System.Logger.Level.WARNING, losses);
      }
    }
  }
}
