package splitscan.connector;

import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What Python planned.
 *
 * @param spec what every task must know, as the kernel reads it
 * @param sizeBytes how many bytes of files the tasks read together
 * @param limit most rows, of one task then, or {@link PlanScan#NO_LIMIT}
 * @param name what the scan is called in Spark's plans
 * @param hadoop settings of Hadoop, if it reads the files; null where the kernel does
 * @param fileColumns columns with one value for a file, by which files can be left out; empty where all are planned
 * @param planned documents of the tasks' blocks, for conditions of files in JSON and a number of rows, which Spark may
 *     want less of, or {@link PlanScan#COUNT}
 * @param stream makes the stream of a query, of what reads its tasks; null where only a batch is read
 */
record Plan(
    String spec,
    long sizeBytes,
    long limit,
    String name,
    SerializableConfiguration hadoop,
    Set<String> fileColumns,
    BiFunction<String, Long, String[]> planned,
    Function<PartitionReaderFactory, MicroBatchStream> stream) {
  private static final int FACTS = 5; // lines before those of columns

  /** A plan that {@code scan.to_spark} made. */
  static Plan of(CaseInsensitiveStringMap options) {
    String tasks = options.get("tasks");
    if (tasks == null) {
      throw new IllegalArgumentException(
          "a plan has tasks [bad-plan]\n  seen:  none\n  fix:   call scan.to_spark(spark)");
    }
    String[] documents = tasks.isEmpty() ? new String[0] : tasks.split("\n");
    return of(options.get("facts").split("\n"), (conditions, limit) -> documents, null);
  }

  /** A plan as Python answers, of which tasks and a stream follow when they are wanted. */
  static Plan of(
      String[] lines,
      BiFunction<String, Long, String[]> planned,
      Function<PartitionReaderFactory, MicroBatchStream> stream) {
    Set<String> fileColumns = Arrays.stream(lines).skip(FACTS).collect(Collectors.toSet());
    var hadoop =
        lines[4].equals("hadoop")
            ? new SerializableConfiguration(SparkSession.active().sparkContext().hadoopConfiguration())
            : null;
    long sizeBytes = Long.parseLong(lines[1]);
    long limit = Long.parseLong(lines[2]);
    return new Plan(lines[0], sizeBytes, limit, lines[3], hadoop, fileColumns, once(planned), stream);
  }

  /** Asks once for all blocks: all queries that want all of them read the same. */
  private static BiFunction<String, Long, String[]> once(BiFunction<String, Long, String[]> planned) {
    var all = new ConcurrentHashMap<String, String[]>();
    return (conditions, limit) ->
        conditions.equals(FileConditions.NONE) && limit == PlanScan.NO_LIMIT
            ? all.computeIfAbsent(conditions, none -> planned.apply(none, limit))
            : planned.apply(conditions, limit);
  }
}
