package splitscan.connector;

/**
 * The native block reader. Every call is made on the thread of the task, and throws what the kernel says of a fault.
 *
 * <p>A reader is a number that {@link #open} gives and {@link #close} ends; it must not be used after that, nor by two
 * threads at a time.
 */
final class Kernel {
  private Kernel() {}

  /** Makes sure that the native library is loaded for this class loader. */
  static void load() {
    Library.load();
  }

  /**
   * Opens a reader of blocks, one after the other.
   *
   * @param spec what every task must know
   * @param blocks which blocks
   * @param columns the columns to deliver, in order; none counts the rows
   * @param limit most rows, or -1
   */
  static native long open(String spec, String blocks, String[] columns, long limit);

  /**
   * Reads the next batch; the one before is freed.
   *
   * @param places filled with where its arrays are, {@link ArrowColumn#PLACES} numbers for each in depth-first order
   * @return how many rows it has, or -1 at the end
   */
  static native int next(long reader, long[] places);

  /**
   * Frees the reader and the batch that it lent.
   *
   * @return which of the records that it read are no rows, or have nulls where values do not fit, as a warning; null
   *     for none
   */
  static native String close(long reader);
}
