package splitscan.connector;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** Makes what Spark throws for a query that cannot be planned, with a text of our own. */
final class PlanningError {
  private PlanningError() {}

  /** An {@code AnalysisException}, which PySpark shows without the stack of the JVM. Throw what it returns. */
  static RuntimeException of(String text) {
    return of(analysis(text));
  }

  /** The same exception, whatever it is. Throw what it returns. */
  static RuntimeException of(Exception error) {
    return PlanningError.<RuntimeException>unchecked(error);
  }

  private static Exception analysis(String text) {
    try {
      return new AnalysisException(
          text,
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Map$.MODULE$.empty(),
          new QueryContext[0]);
    } catch (LinkageError error) { // no promise of Spark; as plain is what follows
      return new IllegalArgumentException(text);
    }
  }

  /** Spark's exception is checked, and its interfaces declare none. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> RuntimeException unchecked(Exception error) throws E {
    throw (E) error;
  }
}
