package splitscan.connector;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Loads into a JVM, while Python gets ready to plan, what the first query would wait for: classes of Spark's planner
 * and of its compiler, and the kernel.
 *
 * <p>A scan is planned and compiled that nobody runs: no job, no event, no file comes of it.
 */
final class FirstQuery {
  private static final System.Logger LOG = System.getLogger("splitscan");
  private static final AtomicBoolean BEGUN = new AtomicBoolean();

  private FirstQuery() {}

  /** Begins in a thread of its own, once for this class loader. */
  static void prepare() {
    if (BEGUN.compareAndSet(false, true)) {
      var thread = new Thread(FirstQuery::load, "splitscan-first-query");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private static void load() {
    try {
      SparkSession session = SparkSession.active();
      var schema = new StructType().add("number", DataTypes.LongType).add("text", DataTypes.StringType);
      var plan = Map.of("facts", "{}\n0\n-1\nnothing\nlocal", "tasks", "none");
      var frame = session.read().format(PlanSource.class.getName()).schema(schema).options(plan).load();
      var query = ((Dataset<?>) frame).queryExecution();
      query.simpleString();
      query.toRdd();
      if (session.sparkContext().isLocal()) { // else executors load it, and not this JVM
        Library.load();
      }
    } catch (Exception | LinkageError error) { // Scala declares nothing, and throws what is checked
      LOG.log(System.Logger.Level.DEBUG, "not ready yet; a query will meet this again", error);
    }
  }
}
