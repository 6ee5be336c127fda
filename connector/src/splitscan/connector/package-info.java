/**
 * Spark's DataSource V2 over the native block reader of splitscan.
 *
 * <p>Python plans a scan and hands the plan over; these classes hand columns, limits and sizes between Spark and the
 * kernel. They parse nothing, plan nothing, decide nothing about records, and have no option of their own. They stay
 * inside the public packages {@code connector}, {@code types}, {@code vectorized} and {@code unsafe} of Spark, and the
 * file systems of Hadoop, and ask a task only whether it was killed: so one jar serves all versions from 4.0 on. {@link
 * FirstQuery} alone looks at how Spark runs a query, and nothing is lost where it cannot.
 */
package splitscan.connector;
