//! Columns that records show, as a document says how: Python writes it, with the spelling of scans.

use serde::Deserialize;

use super::engine::unsupported;
use super::error::BlockError;
use super::spec::{CharsetSpec, RulesSpec, refuse_other_version};
use crate::charsets::{Charset, transcode};
use crate::fit::Fitter;
use crate::json::{self, Dialect};
use crate::places::{Places, Summarise};
use crate::xml::{self, Naming};

/// How the columns of a file are found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InferenceSpec {
    version: u32,
    format: Inferred,
    charset: Option<CharsetSpec>, // nothing stands for UTF-8
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Inferred {
    Csv(Box<RulesSpec>),
    Json(JsonInference),
    Xml(Box<XmlInference>),
}

/// See [`json::Wanted`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonInference {
    dialect: Dialect,
    primitives_as_string: bool,
    prefers_decimal: bool,
}

/// See [`Naming`] and [`xml::Wanted`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct XmlInference {
    attribute_prefix: String,
    value_tag: String,
    exclude_attribute: bool,
    ignore_namespace: bool,
    null_value: Option<String>,
    rules: RulesSpec,
    prefers_decimal: bool,
    prefer_date: bool,
}

impl InferenceSpec {
    fn read(written: &str) -> Result<InferenceSpec, BlockError> {
        let spec: InferenceSpec = serde_json::from_str(written).map_err(|error| {
            BlockError::bad_document("inference is a document", error.to_string())
        })?;
        refuse_other_version(spec.version)?;
        Ok(spec)
    }
}

/// Finds the types that texts fit.
///
/// # Errors
/// If the document is of another format, or says what has no meaning.
pub fn fitter(document: &str) -> Result<Fitter, BlockError> {
    match InferenceSpec::read(document)?.format {
        Inferred::Csv(rules) => Fitter::new(&rules.rules()?).map_err(unsupported),
        other => Err(of_another(&other)),
    }
}

/// The members of records and the types of their values.
pub struct MemberSummary {
    charset: Charset,
    summary: Box<dyn Summarise + Send + Sync>,
}

impl MemberSummary {
    /// Of no records.
    ///
    /// # Errors
    /// If the document is of another format, or says what has no meaning.
    pub fn open(document: &str) -> Result<MemberSummary, BlockError> {
        let spec = InferenceSpec::read(document)?;
        let charset = spec
            .charset
            .map_or(Ok(Charset::Utf8), |said| said.charset(None));
        let charset = charset.map_err(|rule| BlockError::bad_document(rule, "another"))?;
        let summary: Box<dyn Summarise + Send + Sync> = match spec.format {
            Inferred::Json(own) => {
                let wanted = json::Wanted {
                    primitives_as_string: own.primitives_as_string,
                    prefers_decimal: own.prefers_decimal,
                };
                Box::new(json::Summary::new(own.dialect, wanted))
            }
            Inferred::Xml(own) => {
                let naming = Naming {
                    attribute_prefix: own.attribute_prefix,
                    value_tag: own.value_tag,
                    exclude_attribute: own.exclude_attribute,
                    ignore_namespace: own.ignore_namespace,
                    ignore_surrounding_spaces: true, // in what a type is looked for
                    null_value: own.null_value,
                };
                let wanted = xml::Wanted {
                    prefers_decimal: own.prefers_decimal,
                    prefer_date: own.prefer_date,
                };
                let summary = xml::Summary::new(naming, &own.rules.rules()?, wanted);
                Box::new(summary.map_err(unsupported)?)
            }
            other @ Inferred::Csv(_) => return Err(of_another(&other)),
        };
        Ok(MemberSummary { charset, summary })
    }

    /// Take records whose contents are known. Answers which of them only the reference engine can read.
    ///
    /// # Errors
    /// If a record is not in the data.
    pub fn take(
        &mut self,
        data: &[u8],
        starts: &[i64],
        stops: &[i64],
    ) -> Result<Vec<usize>, String> {
        if self.charset == Charset::Utf8 {
            return self.summary.take(data, starts, stops);
        }
        let spans = starts.iter().zip(stops);
        let spans = spans.map(|(&start, &stop)| (start as usize, stop as usize));
        let (texts, starts, stops) = transcode(data, spans, &self.charset);
        self.summary.take(&texts, &starts, &stops)
    }

    /// Whether some record has no members.
    pub fn has_others(&self) -> bool {
        self.summary.has_others()
    }

    /// The members.
    pub fn places(&self) -> &Places {
        self.summary.places()
    }
}

fn of_another(format: &Inferred) -> BlockError {
    let name = match format {
        Inferred::Csv(_) => "csv",
        Inferred::Json(_) => "json",
        Inferred::Xml(_) => "xml",
    };
    BlockError::bad_document("inference is of the format that it is asked for", name)
}
