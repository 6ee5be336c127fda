package splitscan.connector;

import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/** The stream of one query: Python plans its windows, and knows them by an id; tasks read them like a batch. */
final class PlanStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String id = UUID.randomUUID().toString();
  private final Question question;
  private final StructType schema;
  private final PartitionReaderFactory readers;
  private boolean isFrozen; // for a Python that has to begin again
  private boolean isBegun; // so that a Python which forgets windows with its process says that it has

  PlanStream(Question question, StructType schema, PartitionReaderFactory readers) {
    this.question = question;
    this.schema = schema;
    this.readers = readers;
  }

  /** An offset as Python writes it; Spark compares the texts. */
  private static final class Position extends Offset {
    private final String json;

    private Position(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  @Override
  public Offset initialOffset() {
    return new Position(ask("initial", "", "")[0]);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new Position(json);
  }

  /** A sign that windows are limited; by how much, Python knows. */
  @Override
  public ReadLimit getDefaultReadLimit() {
    return ReadLimit.maxFiles(Integer.MAX_VALUE);
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    String about = limit instanceof ReadAllAvailable ? "all" : "latest";
    return new Position(ask(about, start.json(), "")[0]);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("Spark asks for the offset after a limit");
  }

  @Override
  public Offset reportLatestOffset() {
    return new Position(ask("backlog", "", "")[0]);
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    isFrozen = true;
    ask("freeze", "", "");
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return BlocksReaderFactory.tasks(ask("window", start.json(), end.json()));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return readers;
  }

  @Override
  public void commit(Offset end) {
    ask("commit", "", end.json());
  }

  @Override
  public void stop() {
    if (Planner.isThere()) { // else nobody knows of the stream any more
      ask("stop", "", "");
    }
  }

  private String[] ask(String about, String start, String end) {
    String frozen = Boolean.toString(isFrozen);
    String begun = Boolean.toString(isBegun);
    var asked = Map.of("stream", id, "start", start, "end", end, "frozen", frozen, "begun", begun);
    String[] lines = question.ask(about, schema, asked).lines();
    isBegun = true;
    return lines;
  }
}
