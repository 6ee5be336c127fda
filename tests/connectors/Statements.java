import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.spark.sql.SparkSession;

/** Runs the statement of each line of standard input in Spark, and writes its rows as one line: a JSON array. */
public class Statements {
    public static void main(String[] settings) throws Exception {
        SparkSession.Builder builder = SparkSession.builder().master("local[1]");
        for (String setting : settings) {
            String[] pair = setting.split("=", 2);
            builder = builder.config(pair[0], pair[1]);
        }
        SparkSession spark = builder.getOrCreate();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(spark.sql(line).toJSON().collectAsList());
            System.out.flush();
        }
        spark.stop();
    }
}
