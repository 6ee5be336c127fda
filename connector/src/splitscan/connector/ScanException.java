package splitscan.connector;

/** What the kernel, or the way to it, says of a fault: the rule, where, what was seen, how to fix it. */
public final class ScanException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public ScanException(String message) {
    super(message);
  }
}
