package splitscan.connector;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * The files of a task that are not on mounted file systems, as Hadoop reaches them: one is open at a time.
 *
 * <p>The kernel calls it on the thread of the task. What goes wrong is returned as a text, null where nothing does.
 */
public final class HadoopFiles {
  private static final long MICROS = 1_000_000; // stores know the time of a file to the second, in one answer or another
  private static final String CHANGED = "plan again, or set option onFileChange=ignore to read whatever is there now";

  private final Configuration configuration;
  private final byte[] piece = new byte[1 << 20]; // what the kernel asks for at a time
  private String shown;
  private FSDataInputStream stream;

  public HadoopFiles(Configuration configuration) {
    this.configuration = configuration;
  }

  /**
   * Opens a file in place of the one before, if it is the one that was planned: its path for Python and in messages,
   * its bytes, its time in microseconds or 0 where nobody knows, and its size with an ETag or the time.
   */
  public String open(String path, String shown, long size, long modified, String fingerprint) {
    this.shown = shown;
    close();
    try {
      Path file = spelled(path);
      FileSystem system = file.getFileSystem(configuration);
      FileStatus status = system.getFileStatus(file);
      String found = identity(status, size, modified, fingerprint);
      if (found != null) {
        String rule = "the file changed after it was planned (onFileChange=fail)";
        return problem(rule, "source-changed", found + "; planned " + fingerprint, CHANGED);
      }
      var opening = system.openFile(file).withFileStatus(status);
      stream = FutureIO.awaitFuture(opening.opt("fs.option.openfile.read.policy", "sequential").build());
      return null;
    } catch (IOException | RuntimeException error) {
      return failed(error);
    }
  }

  /** Fills a buffer with the bytes from a position on. */
  public String read(long position, ByteBuffer into) {
    try {
      if (stream.getPos() != position) {
        stream.seek(position);
      }
      while (into.hasRemaining()) {
        int read = stream.read(piece, 0, Math.min(piece.length, into.remaining()));
        if (read < 0) {
          throw new EOFException("no byte at " + stream.getPos());
        }
        into.put(piece, 0, read);
      }
      return null;
    } catch (EOFException error) {
      return problem("the file became shorter while it was read", "source-truncated", error.toString(), CHANGED);
    } catch (IOException | RuntimeException error) {
      return failed(error);
    }
  }

  /** Closes the file that is open, if one is. */
  public void close() {
    IOUtils.cleanupWithLogger(null, stream);
    stream = null;
  }

  /** A path for Hadoop. Python spells {@code s3a} as {@code s3}, which not every Hadoop knows. */
  private Path spelled(String path) throws IOException {
    Path file = new Path(path);
    try {
      FileSystem.getFileSystemClass(file.toUri().getScheme(), configuration);
      return file;
    } catch (UnsupportedFileSystemException error) {
      if (!path.startsWith("s3:")) {
        throw error;
      }
      return new Path("s3a" + path.substring("s3".length()));
    }
  }

  /** What is there, if it is not what was planned: by ETag where both sides know one, else by time. */
  private static String identity(FileStatus status, long size, long modified, String fingerprint) {
    String etag = status instanceof EtagSource source ? source.getEtag() : null;
    long time = status.getModificationTime();
    boolean isTimed = etag == null || fingerprint.equals(size + "-" + modified);
    String found = status.getLen() + "-" + (isTimed ? time * 1000 : etag.replace("\"", ""));
    boolean isSame = isTimed ? modified != 0 && time / 1000 == modified / MICROS : found.equals(fingerprint);
    return status.isFile() && status.getLen() == size && isSame ? null : "fingerprint " + found;
  }

  private String failed(Exception error) {
    String code = error instanceof FileNotFoundException ? "source-missing" : "storage-failed";
    String fix = "see that Hadoop on every machine that runs tasks can read it, and plan again";
    return problem("a file that was planned cannot be read", code, error.toString(), fix);
  }

  private String problem(String rule, String code, String seen, String fix) {
    return rule + " [" + code + "]\n  where: " + shown + "\n  seen:  " + seen + "\n  fix:   " + fix;
  }
}
