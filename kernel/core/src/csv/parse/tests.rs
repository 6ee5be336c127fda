use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::super::grammar::{Dialect, Mark};
use super::super::layout::{Meaning, Named, Rescue};
use super::*;

fn rfc() -> Dialect {
    Dialect {
        sep: b",".to_vec(),
        quote: Some(b'"'.into()),
        escape: None,
        escape_escape: None,
        doubled: true,
        skips_values: false,
        comment: None,
        line_sep: None,
        multi_line: true,
        trim_leading: false,
    }
}

fn parser(rescue: Option<Rescue>, max_column_bytes: usize) -> Parser {
    parser_of(rfc(), rescue, max_column_bytes)
}

fn parser_of(dialect: Dialect, rescue: Option<Rescue>, max_column_bytes: usize) -> Parser {
    let named = Named {
        names: vec!["a".into(), "b".into()],
        wanted: vec![0, 1],
        least: 1,
        blanks: Vec::new(),
        rescue,
        typing: None,
    };
    let layout = Layout {
        shape: Shape::Columns(named),
        meaning: Meaning::default(),
        max_field_chars: None,
    };
    let fields = [("a", DataType::Utf8), ("b", DataType::Int32)];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let grammar = Grammar::new(dialect).expect("a dialect");
    let mut parser =
        Parser::new(grammar, schema, layout, vec![Rules::default(); 2]).expect("supported types");
    parser.max_column_bytes = max_column_bytes;
    parser
}

fn all(data: &[u8]) -> Limits {
    Limits {
        stop: data.len(),
        at_end: true,
        max_rows: usize::MAX,
        max_record_bytes: usize::MAX,
    }
}

fn text_bytes(column: &ArrayRef) -> usize {
    column
        .as_any()
        .downcast_ref::<StringArray>()
        .map_or(0, |texts| texts.value_data().len())
}

/// Lines as a careful writer writes them, and others, with values that are no numbers, and ragged ones.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let orderly = prop::sample::select(vec![
        "ab,1",
        "\"a,b\",-22",
        "\"a\nb\",333333333",
        "\"\",\"4444\"",
        "\"a\"\"b\",",
        "\"\"\"\",7",
        ",",
        "é,1",
        "\"x\r\ny\",\"12345\"",
        "1234567890123456789012345678901234567890,0",
        "a,b,c",
        "a",
        "",
        "x,1.5",
    ]);
    let odd = prop::sample::select(vec![
        "a\"b,1",
        "\"a\"b,1",
        "\"a\" ,1",
        " \"a\",1",
        "\"a\\\"b\",1",
        "a,\"1",
        "#\"",
        "\"a\\,1",
        "~,1",
        "a\rb,1",
    ]);
    let line = prop_oneof![9 => orderly, 1 => odd];
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    prop::collection::vec((line, end), 0..40).prop_map(|lines| {
        let text: String = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        text.bytes()
            .map(|byte| if byte == b'~' { 0xff } else { byte })
            .collect()
    })
}

/// All that is said of the records: as many calls as it takes.
fn said(parser: &Parser, data: &[u8], limits: Limits) -> Vec<String> {
    let mut at = 0;
    let mut said = Vec::new();
    loop {
        let rest = &data[at..];
        let stop = limits.stop.saturating_sub(at);
        let parsed = parser.parse(rest, Limits { stop, ..limits }).expect("rows");
        let frames = &parsed.frames;
        said.push(format!(
            "{:?} {:?} {:?} {at}",
            parsed.columns, parsed.faults, parsed.counts
        ));
        said.push(format!(
            "{:?} {:?} {:?}",
            frames, parsed.stopped, parsed.undecided
        ));
        at += frames.next_start;
        if parsed.stopped != Stopped::Rows || parsed.rows == 0 {
            return said;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn what_the_masks_prove_is_what_the_machine_finds(
        data in lines(),
        escape in prop::sample::select(vec![None, Some(b'\\')]),
        comment in prop::sample::select(vec![None, Some(b'#')]),
        line_sep in prop::sample::select(vec![None, Some(b"\n".to_vec())]),
        flags: (bool, bool, bool),
        stop in 0usize..2000,
        max_rows in prop::sample::select(vec![1, 3, usize::MAX]),
        max_record_bytes in prop::sample::select(vec![3, 12, usize::MAX]),
        tape_bytes in prop::sample::select(vec![1, 40, 300, FULL_BYTES]),
    ) {
        let (multi_line, trim_leading, at_end) = flags;
        let [escape, comment] = [escape, comment].map(|byte| byte.map(Mark::from));
        let dialect = Dialect { escape, escape_escape: escape, comment, line_sep, multi_line, trim_leading, doubled: escape.is_none(), ..rfc() };
        let limits = Limits { stop, at_end, max_rows, max_record_bytes };
        let mut parser = parser_of(dialect, None, MAX_COLUMN_BYTES);
        parser.tape_bytes = tape_bytes;
        let proven = said(&parser, &data, limits);
        for leaper in parser.leaper.into_iter().flat_map(Leaper::on_every_level) {
            parser.leaper = Some(leaper);
            prop_assert_eq!(&proven, &said(&parser, &data, limits));
        }
        parser.leaper = None;
        parser.tape_bytes = FULL_BYTES;
        prop_assert_eq!(proven, said(&parser, &data, limits));
    }
}

/// The same with what is odd at every place of a block, and at every edge between two.
#[test]
fn masks_prove_no_more_wherever_a_block_ends() {
    let odd = [
        "\"b\"c,1\nd,2\n",
        "\"b\"\"c\",1\nd,2\n",
        "\"\"\"b\nc\",1\nd,2\n",
        "\rb,1\n",
        "\"b\"\r\n\r\nc,1\r\n",
        "\n\n,\"\"\n",
        "\"\",\"\"\"\"\n,\n",
        "\"b\" ,1\n",
        "b\"\",\"1\"\n",
        "\"b\\\"c\",1\n",
        ",\"1\nd,2\n\"\n",
        "#\"\nb,1\n",
        "\"b\"\"\n",
    ];
    let shifted = (0..130).flat_map(|length| {
        let before = ["", ",", ",1\n"].map(|end| "a".repeat(length) + end);
        odd.iter()
            .flat_map(move |odd| before.clone().map(|before| before + odd))
    });
    for odd in shifted {
        let data = format!("x,1\n{odd}{}", "\"b\",22\n".repeat(30)).into_bytes();
        for (escape, comment, multi_line) in [
            (None, None, true),
            (Some(b'\\'), Some(b'#'), true),
            (None, None, false),
        ] {
            let [escape, comment] = [escape, comment].map(|byte| byte.map(Mark::from));
            let dialect = Dialect {
                escape,
                escape_escape: escape,
                comment,
                multi_line,
                doubled: escape.is_none(),
                ..rfc()
            };
            let mut parser = parser_of(dialect, None, MAX_COLUMN_BYTES);
            let proven = said(&parser, &data, all(&data));
            for leaper in parser.leaper.into_iter().flat_map(Leaper::on_every_level) {
                parser.leaper = Some(leaper);
                assert_eq!(proven, said(&parser, &data, all(&data)), "{odd:?}");
            }
            parser.leaper = None;
            assert_eq!(proven, said(&parser, &data, all(&data)), "{odd:?}");
        }
    }
}

#[test]
fn no_column_gets_more_bytes_than_it_may_have() {
    let rescue = Rescue {
        unmatched: Vec::new(),
        max_fields: 3,
        tail: ",\"f\":1}".into(),
        wanted: true,
    };
    let data = b"some text,1\n\"\x01\x02\x03\",\x01\x01\x01\n\n,x,\xff\xff\n".repeat(60);
    for (rescue, most) in [(None, 700), (Some(rescue), 2000)] {
        let (mut at, mut rows, mut calls) = (0, 0, 0);
        let parser = parser(rescue, most);
        while at < data.len() {
            let rest = &data[at..];
            let parsed = parser.parse(rest, all(rest)).expect("rows");
            assert!(
                parsed.rows > 0
                    && parsed
                        .columns
                        .iter()
                        .all(|column| text_bytes(column) <= most)
            );
            at += parsed.frames.next_start;
            (rows, calls) = (rows + parsed.rows, calls + 1);
            assert_eq!(parsed.stopped == Stopped::End, at == data.len());
        }
        assert!(rows == 180 && calls > 1, "{rows} rows in {calls} calls");
    }
}

#[test]
fn a_record_that_fits_into_no_column_is_left() {
    let data = [b"a,1\n".to_vec(), vec![b'x'; 3000], b",2\n".to_vec()].concat();
    let parser = parser(None, 1000);
    let parsed = parser.parse(&data, all(&data)).expect("rows");
    assert_eq!(
        (parsed.rows, parsed.stopped, parsed.frames.next_start),
        (1, Stopped::Bytes, 4)
    );
    let framed = parser
        .parse_framed(&data, &[0, 4], &[3, data.len() as i64 - 1])
        .expect("rows");
    assert_eq!((framed.rows, framed.stopped), (1, Stopped::Bytes));
}

#[test]
fn records_that_are_read_on_their_own_end_where_they_are_said_to() {
    let data = b"a,1\nb\n\"x,y";
    let parsed = parser(None, 1000)
        .parse_framed(data, &[0, 6], &[6, 10])
        .expect("rows");
    assert_eq!(parsed.counts, [(1, 1)]); // up to the line feed; and a quote that never closes
    assert!(parser(None, 1000).parse_framed(data, &[9], &[99]).is_err());
}

fn texts(parser: &Parser, data: &[u8]) -> Vec<Option<String>> {
    let parsed = parser.parse(data, all(data)).expect("rows");
    let column = parsed.columns[0].as_any().downcast_ref::<StringArray>();
    let texts = column.expect("texts").iter();
    texts.map(|text| text.map(str::to_string)).collect()
}

#[test]
fn nulls_and_blanks_are_found_where_the_fields_lie() {
    let mut parser = parser(None, 1000);
    parser.layout.meaning = Meaning {
        null_value: "NA".into(),
        empty_value: "e".into(),
        trim_leading: true,
        trim_trailing: true,
    };
    let data = b" NA\t,1\n\"NA\",2\n\" NA\",3\n\"\",4\n \t,5\n x y ,6\nN\"\"A,7\n\"N\"\"\",8\n";
    let found = texts(&parser, data);
    let expected = [
        None,
        None,
        Some(" NA"),
        Some("e"),
        None,
        Some("x y"),
        Some("N\"\"A"),
        Some("N\""),
    ];
    assert_eq!(found, expected.map(|text| text.map(str::to_string)));
}

#[test]
fn a_quote_that_opens_nothing_is_null() {
    let dialect = Dialect {
        multi_line: false,
        ..rfc()
    };
    let parser = parser_of(dialect, None, 1000);
    assert_eq!(texts(&parser, b"\"\n\"\"\"\n"), [None, Some("\"".into())]);
}

#[test]
fn of_the_values_that_are_none_the_first_of_each_record_is_told() {
    let base = parser(None, 1000);
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int32, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let rules = vec![Rules::default(); 2];
    let parser = Parser::new(base.grammar, schema, base.layout, rules).expect("supported types");
    let data = b"1,x\ny,2\n3,4\nv,w\n5,z\n";
    let faults = parser.parse(data, all(data)).expect("rows").faults;
    let told: Vec<(usize, &str)> = faults
        .iter()
        .map(|fault| (fault.record, &*fault.seen))
        .collect();
    assert_eq!(told, [(0, "x"), (1, "y"), (3, "v"), (4, "z")]);
}
