package splitscan.connector;

import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSession;

/** Who answers questions: the Python of the driver that attached the jar, or a process that is started for it. */
public final class Planner {
  private static final System.Logger LOG = System.getLogger("splitscan");

  private static volatile BiFunction<String, SparkSession, String> driver;
  private static volatile String interpreter;
  private static final PlannerProcess PROCESS = new PlannerProcess();

  private Planner() {}

  /**
   * Says which Python attached the jar.
   *
   * @param executable its interpreter, for a process where it cannot be asked itself; null leaves it to Spark's rules
   * @param python answers a question of a session in that process; null leaves the one before
   */
  public static void attachedBy(String executable, BiFunction<String, SparkSession, String> python) {
    interpreter = executable;
    driver = python == null ? driver : python;
    FirstQuery.prepare();
  }

  /** Starts the process that will be asked, while Spark does other things; what goes wrong is said when it is asked. */
  static void prepare() {
    if (driver == null) {
      PROCESS.prepare(interpreter);
    }
  }

  /** Whether a question needs no process to be started. */
  static boolean isThere() {
    return driver != null || PROCESS.isAlive();
  }

  static String ask(String question, SparkSession session) {
    BiFunction<String, SparkSession, String> python = driver;
    if (python != null) {
      try {
        return python.apply(question, session);
      } catch (RuntimeException error) { // of the connection: Python itself answers with its errors
        LOG.log(System.Logger.Level.WARNING, "Python of the driver takes no questions; a process does", error);
        driver = null;
      }
    }
    return PROCESS.ask(question, interpreter);
  }
}
