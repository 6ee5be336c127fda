package splitscan.connector;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;

/**
 * A process of Python that answers questions, one at a time. The first question starts it, another interpreter replaces
 * it, and it ends with this JVM.
 *
 * <p>A question and an answer are each a length in four bytes, and so many bytes of UTF-8.
 */
final class PlannerProcess {
  private static final System.Logger LOG = System.getLogger("splitscan");
  private static final String PROGRAM = "from splitscan.spark.planner import main; main()";

  private volatile Process process;
  private String interpreterOfProcess;
  private volatile String lastWords = "nothing";

  /** Starts a process if there has been none. */
  void prepare(String interpreter) {
    if (process == null) { // else it may be at an answer, and nobody waits for that here
      try {
        ready(interpreter);
      } catch (IOException error) {
        LOG.log(System.Logger.Level.DEBUG, "no planner yet; the question will meet this again", error);
      }
    }
  }

  boolean isAlive() {
    Process now = process;
    return now != null && now.isAlive();
  }

  private synchronized String ready(String interpreter) throws IOException {
    String python = interpreter == null ? interpreterOfSpark() : interpreter;
    if (!isAlive() || !python.equals(interpreterOfProcess)) {
      start(python);
    }
    return python;
  }

  synchronized String ask(String question, String interpreter) {
    String python = interpreter;
    try {
      python = ready(interpreter);
      byte[] bytes = question.getBytes(StandardCharsets.UTF_8);
      var output = new DataOutputStream(process.getOutputStream());
      output.writeInt(bytes.length);
      output.write(bytes);
      output.flush();
      var input = new DataInputStream(process.getInputStream());
      return new String(input.readNBytes(input.readInt()), StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw PlanningError.of(
          "the Python that plans for the connector does not answer [wrong-python]\n  seen:  "
              + (process == null ? error.getMessage() : python + " said: " + end())
              + "\n  fix:   install splitscan and pyspark there, or name a Python that has them in"
              + " spark.pyspark.driver.python, PYSPARK_DRIVER_PYTHON or PYSPARK_PYTHON before Spark starts");
    }
  }

  private void start(String python) throws IOException {
    stop();
    var builder = new ProcessBuilder(python, "-c", PROGRAM);
    builder.environment().merge("PYTHONPATH", modules(), (old, ours) -> ours + File.pathSeparator + old);
    process = builder.start();
    interpreterOfProcess = python;
    var errors = new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
    var listener = new Thread(() -> errors.lines().forEach(this::heard), "splitscan-planner-errors");
    listener.setDaemon(true);
    listener.start();
  }

  private void stop() {
    if (process != null) {
      process.destroy();
      process = null;
    }
  }

  private void heard(String line) {
    System.err.println(line);
    lastWords = line.isBlank() ? lastWords : line;
  }

  /** What it said before it ended. */
  private String end() {
    process.destroy();
    try {
      process.waitFor();
      Thread.sleep(100); // for the listener
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    process = null;
    return lastWords;
  }

  /** The Python that Spark itself would take on the driver. */
  private static String interpreterOfSpark() {
    SparkConf conf = SparkEnv.get().conf();
    return Stream.of(
            conf.get("spark.pyspark.driver.python", null),
            System.getenv("PYSPARK_DRIVER_PYTHON"),
            conf.get("spark.pyspark.python", null),
            System.getenv("PYSPARK_PYTHON"))
        .filter(name -> name != null && !name.isBlank())
        .findFirst()
        .orElse("python3");
  }

  /** Where Python finds what Spark brings along, and what the user gave with {@code --py-files}. */
  private static String modules() {
    List<String> places = new ArrayList<>();
    String files = SparkEnv.get().conf().get("spark.submit.pyFiles", "");
    places.addAll(List.of(files.split(",")));
    String home = System.getenv("SPARK_HOME");
    if (home != null) {
      places.add(home + "/python");
      File[] packed = new File(home, "python/lib").listFiles((folder, name) -> name.endsWith(".zip"));
      Stream.of(packed == null ? new File[0] : packed).map(File::getPath).forEach(places::add);
    }
    places.removeIf(String::isBlank);
    return String.join(File.pathSeparator, places);
  }
}
