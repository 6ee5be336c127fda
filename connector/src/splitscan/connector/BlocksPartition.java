package splitscan.connector;

import org.apache.spark.sql.connector.read.InputPartition;

/**
 * The blocks of one task.
 *
 * @param blocks the document that Python wrote of them
 */
record BlocksPartition(String blocks) implements InputPartition {}
