package splitscan.connector;

import java.util.Arrays;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What Python planned: a document of what every task must know, one of the blocks of each task, and how long they are. */
final class Plan {
  private static final int FACTS = 4; // lines before those of columns

  private final String spec;
  private final long sizeBytes;
  private final long limit;
  private final String name;
  private final Set<String> fileColumns;
  private final BiFunction<String, Long, String[]> planned;
  private final Supplier<Scan> stream;
  private String[] tasks;

  private Plan(
      String spec,
      String sizeBytes,
      String limit,
      String name,
      Set<String> fileColumns,
      BiFunction<String, Long, String[]> planned,
      Supplier<Scan> stream) {
    this.spec = spec;
    this.sizeBytes = Long.parseLong(sizeBytes);
    this.limit = Long.parseLong(limit);
    this.name = name;
    this.fileColumns = fileColumns;
    this.planned = planned;
    this.stream = stream;
  }

  /** A plan that {@code scan.to_spark} made. */
  static Plan of(CaseInsensitiveStringMap options) {
    String tasks = given(options, "tasks");
    return new Plan(
        given(options, "spec"),
        given(options, "sizeBytes"),
        Long.toString(PlanScan.NO_LIMIT),
        given(options, "name"),
        Set.of(),
        (conditions, limit) -> tasks.isEmpty() ? new String[0] : tasks.split("\n"),
        null);
  }

  /** A plan as Python answers, of which tasks and a stream follow when they are wanted. */
  static Plan of(String[] lines, BiFunction<String, Long, String[]> planned, Supplier<Scan> stream) {
    Set<String> fileColumns = Arrays.stream(lines).skip(FACTS).collect(Collectors.toSet());
    return new Plan(lines[0], lines[1], lines[2], lines[3], fileColumns, planned, stream);
  }

  /** What every task must know, as the kernel reads it. */
  String spec() {
    return spec;
  }

  /** How many bytes of files the tasks read together. */
  long sizeBytes() {
    return sizeBytes;
  }

  /** Most rows, of one task then, or {@link PlanScan#NO_LIMIT}. */
  long limit() {
    return limit;
  }

  /** What the scan is called in Spark's plans. */
  String name() {
    return name;
  }

  /** Columns with one value for a file, by which files can be left out; empty where all are planned already. */
  Set<String> fileColumns() {
    return fileColumns;
  }

  /**
   * The blocks of each task, as the kernel reads them: the same for all queries that want all of them.
   *
   * @param conditions of files, in JSON
   * @param limit most rows, for which Python may plan less, or {@link PlanScan#NO_LIMIT}
   */
  synchronized String[] tasks(String conditions, long limit) {
    if (!conditions.equals(FileConditions.NONE) || limit != PlanScan.NO_LIMIT) {
      return planned.apply(conditions, limit);
    }
    if (tasks == null) {
      tasks = planned.apply(conditions, limit);
    }
    return tasks;
  }

  /** What reads the same as a stream; null if nothing does. */
  Supplier<Scan> stream() {
    return stream;
  }

  private static String given(CaseInsensitiveStringMap options, String name) {
    String value = options.get(name);
    if (value == null) {
      throw new IllegalArgumentException(
          "a plan has " + name + " [bad-plan]\n  seen:  none\n  fix:   call scan.to_spark(spark)");
    }
    return value;
  }
}
