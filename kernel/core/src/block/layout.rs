//! Which field of a CSV file is which column: by place, or by the names of its header.

use std::collections::{HashMap, HashSet};

use super::error::{BlockError, Kind};
use super::spec::{CsvColumn, CsvSpec, FieldSpec};
use crate::csv::{Named, Rescue};

const SHOWN_CHARS: usize = 80;

/// The fields of a file.
#[derive(Clone, Debug)]
pub(super) struct FileLayout {
    /// Their names, and those that are decoded.
    pub named: Named,
    /// Of each of the scan's `fields` the place among the decoded ones; `None` where the file does not have it.
    pub sources: Vec<Option<usize>>,
}

impl FileLayout {
    /// Of a file with such a header; `None` where nobody reads it, or there is none. `tail` ends the texts of what does
    /// not fit.
    ///
    /// # Errors
    /// If the header does not agree with the columns.
    pub(super) fn new(
        own: &CsvSpec,
        columns: &[CsvColumn],
        fields: &[FieldSpec],
        header: Option<&[String]>,
        tail: &str,
    ) -> Result<FileLayout, BlockError> {
        let names = names_of(own, columns, header)?;
        let mut known: HashMap<String, &CsvColumn> = HashMap::new();
        for column in columns {
            known.entry(column.name.to_lowercase()).or_insert(column);
        }
        let found: Vec<Option<&CsvColumn>> = names
            .iter()
            .map(|name| known.get(&name.to_lowercase()).copied())
            .collect();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, column) in found.iter().enumerate() {
            if let Some(column) = column {
                places.entry(&column.name).or_insert(place);
            }
        }
        let is_optional = |place: usize| {
            found
                .get(place)
                .is_some_and(|column| column.is_some_and(|column| column.is_optional))
        };
        let mut least = names.len();
        while least > 1 && is_optional(least - 1) {
            least -= 1;
        }
        let wanted: Vec<usize> = fields
            .iter()
            .filter_map(|field| places.get(field.name.as_str()).copied())
            .collect();
        let decoded: HashMap<String, usize> = wanted
            .iter()
            .enumerate()
            .filter_map(|(number, &place)| Some((names.get(place)?.to_lowercase(), number)))
            .collect();
        let blanks = found.iter().enumerate().filter_map(|(place, column)| {
            let (text,) = column.as_ref()?.blank.clone()?;
            Some((place, text))
        });
        let unmatched = found.iter().enumerate();
        let unmatched = unmatched.filter_map(|(place, column)| column.is_none().then_some(place));
        let rescue = own.rescue.as_ref().map(|rescue| Rescue {
            unmatched: unmatched.collect(),
            max_fields: own.max_columns,
            tail: tail.to_string(),
            wanted: rescue.wanted,
        });
        Ok(FileLayout {
            sources: fields
                .iter()
                .map(|field| decoded.get(&field.name.to_lowercase()).copied())
                .collect(),
            named: Named {
                least,
                blanks: blanks.collect(),
                rescue,
                typing: own.variant,
                wanted,
                names,
            },
        })
    }

    /// Of a file whose records are one variant each, with such a header: all its fields are members.
    ///
    /// # Errors
    /// If it has too many names.
    pub(super) fn of_members(
        own: &CsvSpec,
        header: &[String],
        fields: usize,
    ) -> Result<FileLayout, BlockError> {
        check_width(own, header)?;
        Ok(FileLayout {
            sources: (0..fields).map(Some).collect(),
            named: Named {
                least: header.len(),
                blanks: Vec::new(),
                rescue: None,
                typing: None,
                wanted: vec![0; fields],
                names: header.to_vec(),
            },
        })
    }

    /// The field of one of the scan's `fields`, if the file has it.
    pub(super) fn place(&self, field: usize) -> Option<usize> {
        let source = self.sources.get(field).copied()??;
        self.named.wanted.get(source).copied()
    }
}

/// Names of the fields: the header's where that is read, else the columns'.
fn names_of(
    own: &CsvSpec,
    columns: &[CsvColumn],
    header: Option<&[String]>,
) -> Result<Vec<String>, BlockError> {
    let known: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let read = header.filter(|header| own.checks_header && !header.is_empty());
    let Some(header) = read else {
        return Ok(known);
    };
    let names = unique_names(header);
    if own.by_name {
        check_names(own, header, &names, &known)?;
        return Ok(names);
    }
    check_places(own, columns, header, &names, &known)?;
    let added = names.iter().skip(known.len()).cloned();
    let known = known.into_iter().take(names.len());
    Ok(known.chain(added).collect())
}

/// A header that is matched by name: not too wide, and not that of something else.
fn check_names(
    own: &CsvSpec,
    header: &[String],
    names: &[String],
    known: &[String],
) -> Result<(), BlockError> {
    check_width(own, header)?;
    if !known.is_empty() && !shares_a_name(names, known) {
        let what = "none of its columns is in the schema";
        return Err(mismatch(header, known, what));
    }
    Ok(())
}

fn check_width(own: &CsvSpec, header: &[String]) -> Result<(), BlockError> {
    if header.len() > own.max_columns {
        let most = own.max_columns;
        let rule = format!("the header of a file has more columns than maxColumns={most}");
        return Err(BlockError::new(Kind::Schema, "header-mismatch", rule)
            .at(0)
            .seen(format!("{} columns: {}", header.len(), shown_names(header)))
            .fix("raise maxColumns, if that is its header; else correct sep, quote, escape or skipRows"));
    }
    Ok(())
}

/// A header that is matched by place: names in the order of the columns. It may go on after them where what does not fit
/// is rescued, and may lack last ones that have a default.
fn check_places(
    own: &CsvSpec,
    columns: &[CsvColumn],
    header: &[String],
    names: &[String],
    known: &[String],
) -> Result<(), BlockError> {
    for place in 0..names.len().max(columns.len()) {
        let (found, column) = (names.get(place), columns.get(place));
        let is_same = match (found, column) {
            (None, Some(column)) => column.is_optional,
            (Some(_), None) => own.rescue.is_some(),
            (Some(found), Some(column)) => found.to_lowercase() == column.name.to_lowercase(),
            (None, None) => true,
        };
        if !is_same {
            let one = |name: &str| shown_names(&[name.to_string()]);
            let (found, column) = (
                found
                    .filter(|found| !found.is_empty())
                    .map_or("missing", String::as_str),
                column.map_or("there", |column| &column.name),
            );
            let what = format!(
                "column {} is {}, not {}",
                place + 1,
                one(found),
                one(column)
            );
            return Err(mismatch(header, known, &what));
        }
    }
    Ok(())
}

/// A header that does not agree with the schema: one that has no name in common with it may be a record.
fn mismatch(header: &[String], known: &[String], what: &str) -> BlockError {
    let rule = "the header of a file does not agree with the schema";
    let is_other = !shares_a_name(&unique_names(header), known);
    BlockError::new(Kind::Schema, "header-mismatch", rule)
        .at(0)
        .seen(format!(
            "{what}: header {}; schema {}",
            shown_names(header),
            shown_names(known)
        ))
        .fix(if is_other {
            "if it is a record, read this file by itself, with header=false; else correct the schema, or set \
             enforceSchema=true to take columns by position whatever the header says"
        } else {
            "correct the schema; or set header=true and headerMapping=byName to match columns by name, or \
             enforceSchema=true to take columns by position whatever the header says"
        })
}

fn shares_a_name(names: &[String], known: &[String]) -> bool {
    let lower: HashSet<String> = known.iter().map(|name| name.to_lowercase()).collect();
    names
        .iter()
        .any(|name| lower.contains(&name.to_lowercase()))
}

/// Names for a message: on one line, and cut, since a header may be data.
fn shown_names(names: &[String]) -> String {
    let joined = names.join(", ");
    let mut shown = String::new();
    for symbol in joined.chars().take(SHOWN_CHARS) {
        crate::quoting::show(symbol, &mut shown);
    }
    if shown.chars().count() < SHOWN_CHARS {
        return shown;
    }
    let cut: String = shown.chars().take(SHOWN_CHARS).collect();
    format!("{cut}... ({} columns)", names.len())
}

/// Names of columns from a header, as Spark makes them: empty ones `_cN`, repeated ones with their position.
fn unique_names(header: &[String]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for name in header {
        *seen.entry(name.to_lowercase()).or_default() += 1;
    }
    let mut taken: HashSet<String> = seen
        .iter()
        .filter(|(name, times)| !name.is_empty() && **times == 1)
        .map(|(name, _)| name.clone())
        .collect();
    let unique = |(index, name): (usize, &String)| {
        if !name.is_empty() && seen.get(&name.to_lowercase()) == Some(&1) {
            return name.clone();
        }
        let stem = if name.is_empty() { "_c" } else { name };
        let mut unique = format!("{stem}{index}");
        while taken.contains(&unique.to_lowercase()) {
            unique.push_str(&format!("_{index}"));
        }
        taken.insert(unique.to_lowercase());
        unique
    };
    header.iter().enumerate().map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_spark_makes_them() {
        let unique = |names: &[&str]| {
            unique_names(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(unique(&["a", "A", "", "b"]), ["a0", "A1", "_c2", "b"]);
        assert_eq!(unique(&["a1", "a", "a"]), ["a1", "a1_1", "a2"]);
    }
}
