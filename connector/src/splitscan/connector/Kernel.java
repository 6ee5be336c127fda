package splitscan.connector;

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;

/**
 * The native block reader. Every call is made on the thread of the task, and throws what the kernel says of a fault.
 *
 * <p>A reader is a number that {@link #open} gives and {@link #close} ends; it must not be used after that, nor by two
 * threads at a time.
 */
public final class Kernel {
  /** How many numbers {@link #next} says before those of arrays: bytes read, records that break a rule, peak bytes. */
  static final int PROGRESS = 3;

  /** What {@link #next} returns where the task was killed. */
  static final int INTERRUPTED = -2;

  private static final AtomicInteger OPEN = new AtomicInteger();

  private Kernel() {}

  /** Why the tasks of a session that runs them in this JVM cannot read, in one line; null if they can, or run elsewhere. */
  public static String whyNot(SparkContext context) {
    return Library.whyNot(context);
  }

  /** How many readers of this class loader are open: none, where no task runs. */
  public static int openReaders() {
    return OPEN.get();
  }

  /** How many bytes of native memory its readers hold: none more, where no task runs. */
  public static long nativeBytes() {
    Library.load();
    return heldBytes();
  }

  private static native long heldBytes();

  /**
   * Opens a reader of blocks, one after the other.
   *
   * @param spec what every task must know
   * @param blocks which blocks
   * @param wanted the columns to deliver with their members, a struct in JSON; none counts the rows
   * @param limit most rows, or -1
   * @param files which are not on mounted file systems; null where all are
   */
  static long open(String spec, String blocks, String wanted, long limit, HadoopFiles files) {
    long reader = openNative(spec, blocks, wanted, limit, files);
    OPEN.incrementAndGet();
    return reader;
  }

  private static native long openNative(
      String spec, String blocks, String wanted, long limit, HadoopFiles files);

  /**
   * Reads the next batch; the one before is freed.
   *
   * @param numbers filled with those of {@link #PROGRESS}, and with where the arrays of the batch are: {@link
   *     ArrowColumn#PLACES} for each in depth-first order
   * @return how many rows it has, -1 at the end, or {@link #INTERRUPTED}
   */
  static native int next(long reader, long[] numbers);

  /** Whether the task of this thread was killed; the kernel asks before each read. */
  static boolean isInterrupted() {
    TaskContext task = TaskContext.get();
    return task != null && task.isInterrupted();
  }

  /**
   * Frees the reader and the batch that it lent.
   *
   * @return which of the records that it read are no rows, or have nulls where values do not fit, as a warning; null
   *     for none
   */
  static String close(long reader) {
    OPEN.decrementAndGet();
    return closeNative(reader);
  }

  private static native String closeNative(long reader);
}
