package splitscan.connector;

import org.apache.spark.SparkThrowable;

/**
 * What the kernel, or the way to it, says of a fault: the rule, where, what was seen, how to fix it.
 *
 * <p>Spark throws it in the driver as it is, without the text of a job that was aborted around it, because it has a
 * condition of Spark's. PySpark shows this kind of exception without the stack of the JVM.
 */
public final class ScanException extends IllegalArgumentException implements SparkThrowable {
  private static final long serialVersionUID = 1;
  private static final String CONDITION = "FAILED_READ_FILE.NO_HINT";

  public ScanException(String message) {
    super(message);
  }

  @Override
  public String getCondition() {
    return CONDITION;
  }
}
