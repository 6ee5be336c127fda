/**
 * Spark's DataSource V2 over the native block reader of splitscan.
 *
 * <p>Python plans a scan and hands the plan over; these classes hand columns, limits and sizes between Spark and the
 * kernel. They parse nothing, plan nothing, decide nothing about records, and have no option of their own.
 *
 * <p>One jar serves all versions of Spark from 4.0 on: the classes use its public packages, such as {@code connector},
 * {@code types}, {@code vectorized} and {@code unsafe}, and the file systems of Hadoop, and ask a task only whether it
 * was killed. Beside those they name {@code InternalRow}, which an interface of Spark names, {@code
 * SerializableConfiguration} and {@code SparkEnv}, which Spark marks for developers, and a constructor of {@code
 * AnalysisException}, without which {@link PlanningError} does. Two doors lead to Spark's internals: {@link
 * PythonSource} makes its Python data source, by reflection, and {@link FirstQuery} looks at how Spark runs a query;
 * nothing is lost where that one cannot.
 */
package splitscan.connector;
