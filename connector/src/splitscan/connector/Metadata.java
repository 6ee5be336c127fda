package splitscan.connector;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The column {@code _metadata}, which is there for who asks for it: with Spark's own names, and where records are. */
final class Metadata implements MetadataColumn {
  static final String NAME = "_metadata";
  static final MetadataColumn[] COLUMNS = {new Metadata()};

  private static final StructType TYPE =
      new StructType()
          .add("file_path", DataTypes.StringType, false)
          .add("file_name", DataTypes.StringType, false)
          .add("file_size", DataTypes.LongType, false)
          .add("file_block_start", DataTypes.LongType, false)
          .add("file_block_length", DataTypes.LongType, false)
          .add("file_modification_time", DataTypes.TimestampType, false)
          .add("record_offset", DataTypes.LongType, false)
          .add("record_length", DataTypes.LongType, false);

  private Metadata() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public DataType dataType() {
    return TYPE;
  }

  @Override
  public boolean isNullable() {
    return false;
  }

  @Override
  public String comment() {
    return "the file and the place of the record";
  }
}
