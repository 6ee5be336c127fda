//! What does not fit its columns, as one JSON text for each record that has some.

use crate::quoting::write_string;

/// The members of one record.
#[derive(Default)]
pub(super) struct Members {
    texts: Vec<(usize, String)>, // by field
}

impl Members {
    /// Keep the text of a field.
    pub(super) fn keep(&mut self, field: usize, text: &str) {
        self.texts.push((field, text.to_string()));
    }

    /// The members in the order of fields as an object, which `tail` ends; `None` without any. None are left.
    pub(super) fn take(&mut self, names: &[String], tail: &str) -> Option<String> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.sort_by_key(|(field, _)| *field);
        let mut object = String::from("{");
        for (number, (field, text)) in self.texts.drain(..).enumerate() {
            if number > 0 {
                object.push(',');
            }
            match names.get(field) {
                Some(name) => write_string(name, &mut object),
                None => write_string(&format!("_c{field}"), &mut object),
            }
            object.push(':');
            write_string(&text, &mut object);
        }
        object.push_str(tail);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_in_the_order_of_fields_and_escaped() {
        let mut members = Members::default();
        members.keep(3, "x\u{1}\"");
        members.keep(0, "é\n");
        let names = ["a\\".to_string()];
        let object = members.take(&names, ",\"f\":1}");
        assert_eq!(
            object.as_deref(),
            Some("{\"a\\\\\":\"é\\n\",\"_c3\":\"x\\u0001\\\"\",\"f\":1}")
        );
        assert_eq!(members.take(&names, "}"), None);
    }
}
