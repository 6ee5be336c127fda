"""The options of the ``scan_...`` functions, so that editors complete them and type checkers know them.

Written by `python -m tools.option_signatures > src/splitscan/options/signatures.py`; a test compares. What each
option means is in ``docs/options.md``. ``None`` means that it was not given.
"""

# Over 400 lines: each option of each format.

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict

Flag: TypeAlias = bool | str | None
Text: TypeAlias = str | None
Whole: TypeAlias = int | str | None
Size: TypeAlias = int | str | None
Names: TypeAlias = list[str] | tuple[str, ...] | str | None
Moment: TypeAlias = dt.datetime | str | None
Settings: TypeAlias = Mapping[str, Any] | str | None


class ScanKeywords(TypedDict, total=False):
    """Options of every record format."""

    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | Text
    column_name_of_corrupt_record: Text
    columnNameOfCorruptRecord: Text
    max_record_bytes: Size
    maxRecordBytes: Size
    columns: Names
    metadata_columns: Names
    metadataColumns: Names
    batch_rows: Whole
    batchRows: Whole
    batch_bytes: Size
    batchBytes: Size
    read_bytes: Size
    readBytes: Size
    limit: Whole
    infer_schema: Flag
    inferSchema: Flag
    infer_bytes: Size
    inferBytes: Size
    sample_bytes: Size
    sampleBytes: Size
    sampling_bytes: Size
    samplingBytes: Size
    path_glob_filter: Text
    pathGlobFilter: Text
    archive_path_filter: Text
    archivePathFilter: Text
    max_archive_size: Size
    maxArchiveSize: Size
    max_archive_bytes: Size
    maxArchiveBytes: Size
    recursive_file_lookup: Flag
    recursiveFileLookup: Flag
    modified_before: Moment
    modifiedBefore: Moment
    modified_after: Moment
    modifiedAfter: Moment
    ignore_missing_files: Flag
    ignoreMissingFiles: Flag
    ignore_corrupt_files: Flag
    ignoreCorruptFiles: Flag
    ignored_path_segment_regex: Text
    ignoredPathSegmentRegex: Text
    base_path: Text
    basePath: Text
    where: Text
    partition_column_type_inference: Flag
    partitionColumnTypeInference: Flag
    on_file_change: Literal["fail", "ignore"] | Text
    onFileChange: Literal["fail", "ignore"] | Text
    storage_options: Settings
    storageOptions: Settings
    source_compression: Literal["auto", "none", "gzip", "zstd", "bzip2", "xz", "lz4", "snappy", "deflate"] | Text
    sourceCompression: Literal["auto", "none", "gzip", "zstd", "bzip2", "xz", "lz4", "snappy", "deflate"] | Text
    max_decompression_ratio: Whole
    maxDecompressionRatio: Whole
    block_size: Size
    blockSize: Size
    block_bytes: Size
    blockBytes: Size
    task_size: Size
    taskSize: Size
    task_bytes: Size
    taskBytes: Size
    max_partition_bytes: Size
    maxPartitionBytes: Size
    open_cost_in_bytes: Size
    openCostInBytes: Size
    open_cost_bytes: Size
    openCostBytes: Size
    min_partition_num: Whole
    minPartitionNum: Whole
    min_partitions: Whole
    minPartitions: Whole
    rebalance: Flag


class ColumnKeywords(ScanKeywords, total=False):
    """Options of formats with columns, too."""

    provided_schema: Text
    providedSchema: Text
    schema_mode: Literal["lenient", "strict"] | Text
    schemaMode: Literal["lenient", "strict"] | Text
    schema_hints: Text
    schemaHints: Text
    schema_conflicts: Literal["string", "error"] | Text
    schemaConflicts: Literal["string", "error"] | Text
    sample_files: Whole
    sampleFiles: Whole
    column_options: Settings
    columnOptions: Settings
    rescued_data_column: Text
    rescuedDataColumn: Text
    reject_reason_column: Text
    rejectReasonColumn: Text


class TypedKeywords(ColumnKeywords, total=False):
    """Options of text with columns, too."""

    date_format: Text
    dateFormat: Text
    time_format: Text
    timeFormat: Text
    timestamp_format: Text
    timestampFormat: Text
    timestamp_ntz_format: Text
    timestampNTZFormat: Text
    time_zone: Text
    timeZone: Text
    locale: Text
    encoding: Text
    charset: Text


class CsvKeywords(TypedKeywords, total=False):
    """Options of ``scan_csv``."""

    sep: Text
    delimiter: Text
    quote: Text
    escape: Text
    comment: Text
    header: Flag
    enforce_schema: Flag
    enforceSchema: Flag
    header_mapping: Literal["byPosition", "byName"] | Text
    headerMapping: Literal["byPosition", "byName"] | Text
    columns_array: Flag
    columnsArray: Flag
    skip_rows: Whole
    skipRows: Whole
    found_options: Names
    foundOptions: Names
    line_sep: Text
    lineSep: Text
    dialect: Literal["spark", "rfc4180", "excel", "auto"] | Text
    multi_line: Flag
    multiLine: Flag
    null_value: Text
    nullValue: Text
    empty_value: Text
    emptyValue: Text
    nan_value: Text
    nanValue: Text
    positive_inf: Text
    positiveInf: Text
    negative_inf: Text
    negativeInf: Text
    ignore_leading_white_space: Flag
    ignoreLeadingWhiteSpace: Flag
    ignore_trailing_white_space: Flag
    ignoreTrailingWhiteSpace: Flag
    max_columns: Whole
    maxColumns: Whole
    max_chars_per_column: Whole
    maxCharsPerColumn: Whole
    unescaped_quote_handling: Literal["STOP_AT_DELIMITER", "SKIP_VALUE"] | Text
    unescapedQuoteHandling: Literal["STOP_AT_DELIMITER", "SKIP_VALUE"] | Text
    char_to_escape_quote_escaping: Text
    charToEscapeQuoteEscaping: Text
    prefer_date: Flag
    preferDate: Flag
    single_variant_column: Text
    singleVariantColumn: Text
    variant_allow_duplicate_keys: Flag
    variantAllowDuplicateKeys: Flag
    max_variant_bytes: Size
    maxVariantBytes: Size


class TextKeywords(ScanKeywords, total=False):
    """Options of ``scan_text``."""

    line_sep: Text
    lineSep: Text
    escape: Text
    encoding: Text
    charset: Text
    time_zone: Text
    timeZone: Text


class FixedKeywords(ScanKeywords, total=False):
    """Options of ``scan_fixed``."""

    time_zone: Text
    timeZone: Text


class FixedWidthKeywords(TypedKeywords, total=False):
    """Options of ``scan_fixed_width``."""

    record_length: Whole
    recordLength: Whole
    line_sep: Text
    lineSep: Text
    null_value: Text
    nullValue: Text
    ignore_leading_white_space: Flag
    ignoreLeadingWhiteSpace: Flag
    ignore_trailing_white_space: Flag
    ignoreTrailingWhiteSpace: Flag


class SlicesKeywords(ScanKeywords, total=False):
    """Options of ``scan_slices``."""

    slice_size: Size
    sliceSize: Size
    slice_bytes: Size
    sliceBytes: Size
    time_zone: Text
    timeZone: Text


class JsonKeywords(TypedKeywords, total=False):
    """Options of ``scan_json``."""

    multi_line: Flag
    multiLine: Flag
    record_path: Text
    recordPath: Text
    record_path_columns: Text
    recordPathColumns: Text
    line_sep: Text
    lineSep: Text
    primitives_as_string: Flag
    primitivesAsString: Flag
    prefers_decimal: Flag
    prefersDecimal: Flag
    drop_field_if_all_null: Flag
    dropFieldIfAllNull: Flag
    allow_single_quotes: Flag
    allowSingleQuotes: Flag
    allow_unquoted_field_names: Flag
    allowUnquotedFieldNames: Flag
    allow_numeric_leading_zeros: Flag
    allowNumericLeadingZeros: Flag
    allow_numeric_leading_zero: Flag
    allowNumericLeadingZero: Flag
    allow_non_numeric_numbers: Flag
    allowNonNumericNumbers: Flag
    allow_backslash_escaping_any_character: Flag
    allowBackslashEscapingAnyCharacter: Flag
    allow_unquoted_control_chars: Flag
    allowUnquotedControlChars: Flag
    single_variant_column: Text
    singleVariantColumn: Text
    variant_allow_duplicate_keys: Flag
    variantAllowDuplicateKeys: Flag
    max_variant_bytes: Size
    maxVariantBytes: Size
    allow_comments: Flag
    allowComments: Flag
    infer_timestamp: Flag
    inferTimestamp: Flag
    explode_embedded_array: Flag
    explodeEmbeddedArray: Flag


class LogKeywords(TypedKeywords, total=False):
    """Options of ``scan_log``."""

    log_format: Literal["common", "combined", "syslog", "syslog5424", "java", "python", "w3c"] | Text
    logFormat: Literal["common", "combined", "syslog", "syslog5424", "java", "python", "w3c"] | Text
    record_start: Text
    recordStart: Text
    record_continues: Text
    recordContinues: Text
    record_pattern: Text
    recordPattern: Text
    null_value: Text
    nullValue: Text


class CobolKeywords(ColumnKeywords, total=False):
    """Options of ``scan_cobol``."""

    recfm: Literal["F", "FB", "V", "VB", "D"] | Text
    record_length: Whole
    recordLength: Whole
    record_length_field: Text
    recordLengthField: Text
    record_length_map: Settings
    recordLengthMap: Settings
    is_rdw_big_endian: Flag
    isRdwBigEndian: Flag
    is_rdw_part_of_record_length: Flag
    isRdwPartOfRecordLength: Flag
    rdw_adjustment: Whole
    rdwAdjustment: Whole
    is_bdw_big_endian: Flag
    isBdwBigEndian: Flag
    bdw_adjustment: Whole
    bdwAdjustment: Whole
    line_sep: Text
    lineSep: Text
    segment_field: Text
    segmentField: Text
    segment_filter: Names
    segmentFilter: Names
    redefine_segment_id_map: Settings
    redefineSegmentIdMap: Settings
    segment_children: Settings
    segmentChildren: Settings
    record_start_offset: Whole
    recordStartOffset: Whole
    record_end_offset: Whole
    recordEndOffset: Whole
    file_start_offset: Whole
    fileStartOffset: Whole
    file_end_offset: Whole
    fileEndOffset: Whole
    encoding: Text
    charset: Text
    ebcdic_code_page: Text
    ebcdicCodePage: Text
    floating_point_format: Literal["IBM", "IEEE754", "IBM_little_endian", "IEEE754_little_endian"] | Text
    floatingPointFormat: Literal["IBM", "IEEE754", "IBM_little_endian", "IEEE754_little_endian"] | Text
    string_trimming_policy: Literal["both", "left", "right", "none", "keep_all"] | Text
    stringTrimmingPolicy: Literal["both", "left", "right", "none", "keep_all"] | Text
    improved_null_detection: Flag
    improvedNullDetection: Flag
    strict_sign_overpunching: Flag
    strictSignOverpunching: Flag
    strict_integral_precision: Flag
    strictIntegralPrecision: Flag
    variable_size_occurs: Literal["max_size", "shift_record"] | Text
    variableSizeOccurs: Literal["max_size", "shift_record"] | Text
    occurs_mappings: Settings
    occursMappings: Settings
    non_terminals: Names
    nonTerminals: Names
    debug: Literal["none", "hex", "raw", "string"] | Text
    schema_retention_policy: Literal["collapse_root", "keep_original"] | Text
    schemaRetentionPolicy: Literal["collapse_root", "keep_original"] | Text
    drop_value_fillers: Flag
    dropValueFillers: Flag
    drop_group_fillers: Flag
    dropGroupFillers: Flag
    truncate_comments: Flag
    truncateComments: Flag
    comments_lbound: Whole
    commentsLbound: Whole
    comments_ubound: Whole
    commentsUbound: Whole
    time_zone: Text
    timeZone: Text


class XmlKeywords(TypedKeywords, total=False):
    """Options of ``scan_xml``."""

    attribute_prefix: Text
    attributePrefix: Text
    value_tag: Text
    valueTag: Text
    exclude_attribute: Flag
    excludeAttribute: Flag
    ignore_namespace: Flag
    ignoreNamespace: Flag
    ignore_surrounding_spaces: Flag
    ignoreSurroundingSpaces: Flag
    null_value: Text
    nullValue: Text
    prefer_date: Flag
    preferDate: Flag
    prefers_decimal: Flag
    prefersDecimal: Flag
    single_variant_column: Text
    singleVariantColumn: Text
    max_variant_bytes: Size
    maxVariantBytes: Size
    multi_line: Flag
    multiLine: Flag


class TableKeywords(TypedDict, total=False):
    """Options of ``scan_table``."""

    query: Text
    keyColumn: Text
    partition_column: Text
    partitionColumn: Text
    user: Text
    password: Text
    columns: Names
    snapshot: Literal["shared", "own"] | Text
    snapshot_idle_millis: Whole
    snapshotIdleMillis: Whole
    batch_rows: Whole
    batchRows: Whole
    batch_bytes: Size
    batchBytes: Size
    task_size: Size
    taskSize: Size
    task_bytes: Size
    taskBytes: Size
    target_bytes: Size
    targetBytes: Size
    min_partition_num: Whole
    minPartitionNum: Whole
    min_partitions: Whole
    minPartitions: Whole
    num_partitions: Whole
    numPartitions: Whole
    rebalance: Flag
