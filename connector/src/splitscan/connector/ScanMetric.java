package splitscan.connector;

import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What Spark's UI shows of a scan. Spark makes each by its class, with no argument. */
abstract class ScanMetric extends CustomSumMetric {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final String name;
  private final String description;

  private ScanMetric(String name, String description) {
    this.name = name;
    this.description = description;
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final String description() {
    return description;
  }

  /** All of them. */
  static CustomMetric[] all() {
    return new CustomMetric[] {new BytesRead(), new Rejects(), new NativeMemory(), new KernelTime()};
  }

  /**
   * Those of a task so far.
   *
   * @param progress what the kernel says: {@link Kernel#PROGRESS} numbers
   * @param nanos time in its calls
   */
  static CustomTaskMetric[] values(long[] progress, long nanos) {
    return new CustomTaskMetric[] {
      new Value("bytesRead", progress[0]),
      new Value("rejects", progress[1]),
      new Value("nativeMemory", progress[2]),
      new Value("kernelTime", nanos / NANOS_PER_MILLI)
    };
  }

  private record Value(String name, long value) implements CustomTaskMetric {}

  /** Bytes of files that were read. */
  public static final class BytesRead extends ScanMetric {
    public BytesRead() {
      super("bytesRead", "bytes of files read");
    }
  }

  /** Records that break a rule, as far as values were looked at. */
  public static final class Rejects extends ScanMetric {
    public Rejects() {
      super("rejects", "records that break a rule");
    }
  }

  /** The most memory outside of the heap that a task had. */
  public static final class NativeMemory extends ScanMetric {
    private static final double MIB = 1 << 20;

    public NativeMemory() {
      super("nativeMemory", "peak native memory of a task");
    }

    @Override
    public String aggregateTaskMetrics(long[] bytes) {
      return String.format(Locale.ROOT, "%.1f MiB", Arrays.stream(bytes).max().orElse(0) / MIB);
    }
  }

  /** Time in the kernel, of all tasks together. */
  public static final class KernelTime extends ScanMetric {
    private static final double MILLIS_PER_SECOND = 1000;

    public KernelTime() {
      super("kernelTime", "time in the kernel");
    }

    @Override
    public String aggregateTaskMetrics(long[] millis) {
      return String.format(Locale.ROOT, "%.1f s", Arrays.stream(millis).sum() / MILLIS_PER_SECOND);
    }
  }
}
