package splitscan.connector;

import java.io.Serializable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What Python planned: a document of what every task must know, one of the blocks of each task, and how long they are.
 *
 * @param spec what every task must know, as the kernel reads it
 * @param tasks the blocks of each task, as the kernel reads them
 * @param sizeBytes how many bytes of files the tasks read together
 * @param name what the scan is called in Spark's plans
 */
record Plan(String spec, String[] tasks, long sizeBytes, String name) implements Serializable {
  static Plan of(CaseInsensitiveStringMap options) {
    String tasks = given(options, "tasks");
    return new Plan(
        given(options, "spec"),
        tasks.isEmpty() ? new String[0] : tasks.split("\n"),
        Long.parseLong(given(options, "sizeBytes")),
        given(options, "name"));
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
