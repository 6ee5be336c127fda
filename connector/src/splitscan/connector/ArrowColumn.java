package splitscan.connector;

import static org.apache.spark.sql.types.DataTypes.BinaryType;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column over the buffers of an Arrow array that the kernel lends, wherever they are.
 *
 * <p>It is made once for a reader, and moved from batch to batch. Texts are lent as long as the batch.
 */
final class ArrowColumn extends ColumnVector {
  /** How many numbers the kernel says of an array: nulls, validity, its first bit, buffer, buffer or first bit. */
  static final int PLACES = 5;

  private static final int DECIMAL_BYTES = 16;

  private final ArrowColumn[] children;
  private final long unit; // of a long: Spark's times of day are nanoseconds, ours microseconds
  private int nulls;
  private long validity;
  private long firstValid;
  private long buffer; // values; offsets of texts and lists
  private long second; // bytes of texts; of booleans the first bit

  ArrowColumn(DataType type) {
    super(type);
    unit = type.typeName().startsWith("time(") ? 1000 : 1; // Spark 4.0 has no class of such types
    if (type instanceof StructType struct) {
      children = new ArrowColumn[struct.length()];
      for (int i = 0; i < children.length; i++) {
        children[i] = new ArrowColumn(struct.fields()[i].dataType());
      }
    } else if (type instanceof ArrayType array) {
      children = new ArrowColumn[] {new ArrowColumn(array.elementType())};
    } else if (type instanceof MapType map) {
      children = new ArrowColumn[] {new ArrowColumn(map.keyType()), new ArrowColumn(map.valueType())};
    } else if (type instanceof VariantType) { // value and metadata, as getVariant takes them
      children = new ArrowColumn[] {new ArrowColumn(BinaryType), new ArrowColumn(BinaryType)};
    } else {
      children = new ArrowColumn[0];
    }
  }

  /** Number of arrays it consists of. */
  int nodes() {
    int nodes = 1;
    for (var child : children) {
      nodes += child.nodes();
    }
    return nodes;
  }

  /** Takes the place of the array of the next batch, and returns where the next column's begins. */
  int moveTo(long[] places, int at) {
    nulls = (int) places[at];
    validity = places[at + 1];
    firstValid = places[at + 2];
    buffer = places[at + 3];
    second = places[at + 4];
    int next = at + PLACES;
    for (var child : children) {
      next = child.moveTo(places, next);
    }
    return next;
  }

  @Override
  public boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public int numNulls() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return nulls > 0 && !bit(validity, firstValid + row);
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(buffer, second + row);
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, buffer + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, buffer + 2L * row);
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, buffer + 4L * row);
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, buffer + 8L * row) * unit;
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, buffer + 4L * row);
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, buffer + 8L * row);
  }

  // The methods of values that are objects answer null for null: Spark does not always ask before.

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    long at = buffer + (long) DECIMAL_BYTES * row;
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Platform.getLong(null, at), precision, scale);
    }
    byte[] bytes = new byte[DECIMAL_BYTES];
    for (int i = 0; i < DECIMAL_BYTES; i++) {
      bytes[DECIMAL_BYTES - 1 - i] = Platform.getByte(null, at + i);
    }
    return Decimal.apply(new BigDecimal(new BigInteger(bytes), scale), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return UTF8String.fromAddress(null, second + start, getInt(row + 1) - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    byte[] bytes = new byte[getInt(row + 1) - start];
    Platform.copyMemory(null, second + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return bytes;
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return new ColumnarArray(children[0], start, getInt(row + 1) - start);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = getInt(row);
    return new ColumnarMap(children[0], children[1], start, getInt(row + 1) - start);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }

  /** The reader frees what it lends. */
  @Override
  public void close() {}

  private static boolean bit(long bits, long at) {
    return (Platform.getByte(null, bits + (at >> 3)) >> (at & 7) & 1) != 0;
  }
}
