//! XML for the loop: elements of one name, wherever they are.

use arrow_schema::SchemaRef;

use super::engine::{Engine, Skipping};
use super::json::UNFINISHED;
use super::spec::XmlSpec;
use crate::charsets::Charset;
use crate::filling::Rescue;
use crate::frames::{Counted, Frames};
use crate::parsed::Parse;
use crate::rules::Rules;
use crate::xml::{self, Parser, RowTag};

/// The engine of a scan.
pub(super) fn engine(
    own: &XmlSpec,
    schema: &SchemaRef,
    rules: &[Rules],
    tail: &str,
    marks: &Charset,
) -> Result<Box<dyn Engine>, String> {
    let tag = RowTag::new(&marks.write(&own.row_tag)?, 1, false)?;
    let parser = |rescue: Option<(bool, bool)>| {
        let rescue = rescue.map(|(wanted, is_fault)| Rescue {
            tail: tail.to_string(),
            wanted,
            is_fault,
        });
        let (tag, schema) = (tag.clone(), schema.clone());
        let (naming, rules) = (own.naming.clone(), rules.to_vec());
        let variants = (own.variants, own.is_whole);
        Parser::new(tag, schema, naming, rules, variants, rescue)
    };
    Ok(Box::new(Xml {
        plain: parser(own.rescue.map(|wanted| (wanted, false)))?,
        noticing: parser(Some((true, true)))?,
        tag,
    }))
}

struct Xml {
    tag: RowTag,
    plain: Parser,
    noticing: Parser,
}

impl Engine for Xml {
    fn parser(&self, notices: bool) -> Option<&dyn Parse> {
        Some(if notices { &self.noticing } else { &self.plain })
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        xml::frame(data, at_end, &self.tag)
    }

    fn count(&self, data: &[u8]) -> Counted {
        xml::count(data, &self.tag)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        xml::gap_bytes(data, at_end, &self.tag)
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        Some(Box::new(Past {
            tag: &self.tag,
            state: xml::Skipping::default(),
        }))
    }

    fn unfinished(&self) -> &'static str {
        UNFINISHED
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        xml::open_starts(data, longest, &self.tag)
    }

    fn needs_context(&self) -> bool {
        true
    }
}

/// A record or a mark that is given up: what its later bytes are depends on the earlier ones.
struct Past<'e> {
    tag: &'e RowTag,
    state: xml::Skipping,
}

impl Skipping for Past<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let end = self.state.end(data, self.tag);
        end.or(at_end.then_some(data.len()))
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        self.state.drop_bytes(data, self.tag)
    }

    fn never_ends(&self, data: &[u8]) -> bool {
        self.state.end(data, self.tag).is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::BlockReader;

    /// Offsets of the rows of one block, and of what is given up; and the end of the span.
    fn read(data: &[u8], charset: &Value, block: [usize; 2], first: usize) -> (Vec<u64>, u64) {
        let rules = json!({"nan_value": "NaN", "positive_inf": "Inf", "negative_inf": "-Inf", "date_format": null,
            "time_format": null, "timestamp_format": null, "timestamp_ntz_format": null, "time_zone": "UTC", "exact_numbers": false,
        "names": {}, "symbols": null});
        let scan = json!({
            "version": 1, "mode": "PERMISSIVE", "keeps_given_up": true, "max_record_bytes": 80, "read_bytes": 12,
            "batch_rows": 3, "batch_bytes": 1 << 20, "needs_head": true,
            "format": {"xml": {"row_tag": "r", "naming": {"attribute_prefix": "_", "value_tag": "_VALUE",
                "exclude_attribute": false, "ignore_namespace": false, "ignore_surrounding_spaces": true,
                "null_value": null}, "rescue": null}},
            "fields": [{"name": "a", "type": "int", "rules": rules, "written": ""}],
            "columns": [{"name": "o", "type": "bigint", "nullable": true, "source": "record_offset"}],
        });
        let block = json!({"version": 1, "file": ["/f.xml", data.len(), 0, "x", "f.xml", null],
            "block": [block[0], block[1], 0, first, null], "constants": {}, "validate": true, "with_digest": true,
            "head": {"data_start": 0, "charset": charset}});
        let source = Box::new(data.to_vec());
        let reader = BlockReader::open(&scan.to_string(), &block.to_string(), source);
        let mut reader = reader.expect("two documents");
        let mut offsets = Vec::new();
        while let Some(batch) = reader.next_batch().expect("bytes in memory") {
            let column = batch.columns.first().expect("one column").to_data();
            let values: &[i64] = column.buffers()[0].typed_data();
            let values = values.iter().skip(column.offset()).take(batch.rows);
            offsets.extend(values.map(|&offset| offset as u64));
        }
        let report = reader.report().expect("it was read to its end");
        (offsets, report.span_stop)
    }

    #[test]
    fn blocks_cut_anywhere_give_the_records_of_one_pass_in_every_encoding() {
        let text = "<x><r><a>1</a></r><!-- <r> --><r a='<r>'>\u{e9}\u{1f600}</r ><r>long <!-- </r> --> \
            <a>and longer, and longer than the longest one by far</a></r><r/></r><![CDATA[<r>]]><r><r>x</r></r><r";
        type Write = fn(char) -> Vec<u8>;
        let encodings: [(Value, Write); 3] = [
            (Value::Null, |symbol| symbol.to_string().into_bytes()),
            (json!({"units": [2, false]}), |symbol| {
                let units = symbol.encode_utf16(&mut [0; 2]).to_vec();
                units.into_iter().flat_map(u16::to_le_bytes).collect()
            }),
            (json!({"units": [4, true]}), |symbol| {
                u32::from(symbol).to_be_bytes().to_vec()
            }),
        ];
        for (charset, write) in encodings {
            let data: Vec<u8> = text.chars().flat_map(write).collect();
            let size = data.len();
            let (all, end) = read(&data, &charset, [0, size], 0);
            assert_eq!((all.len(), end), (7, size as u64), "{charset}");
            for cut in 0..=size {
                let first = all.iter().find(|&&offset| offset >= cut as u64);
                let first = first.map_or(size, |&offset| offset as usize);
                let (mut rows, middle) = read(&data, &charset, [0, cut], 0);
                let (more, stop) = read(&data, &charset, [cut, size], first);
                rows.extend(more);
                assert_eq!((&rows, stop), (&all, end), "{charset} {cut}");
                assert!(cut == 0 || middle == first as u64, "{charset} {cut}");
            }
        }
    }
}
