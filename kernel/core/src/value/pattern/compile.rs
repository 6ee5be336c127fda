//! Patterns as steps.

use super::letters::{Form, meaning};
use super::{Node, Piece};
use crate::rules::Names;

/// The steps of a pattern, and the pieces in them; an error says where it has no meaning.
pub(super) fn compile(text: &str, names: &Names) -> Result<(Vec<Node>, Vec<Piece>), String> {
    let mut pieces = Vec::new();
    let mut open: Vec<Vec<Node>> = vec![Vec::new()]; // the steps of each bracket that is open
    let mut rest = text;
    while let Some(symbol) = rest.chars().next() {
        let refused = || format!("the pattern {text:?} has no meaning at {rest:?}");
        let length;
        let node = match symbol {
            'a'..='z' | 'A'..='Z' => {
                length = run_of_letters(rest);
                let (run, behind) = rest.split_at(length);
                pieces.push(piece(run, behind, names).ok_or_else(refused)?);
                Node::Piece(pieces.len() - 1)
            }
            '[' => {
                open.push(Vec::new());
                rest = &rest[1..];
                continue;
            }
            ']' if open.len() > 1 => {
                length = 1;
                Node::Optional(open.pop().unwrap_or_default())
            }
            '\'' => {
                let (said, taken) = quoted(rest).ok_or_else(refused)?;
                length = taken;
                Node::Literal(said.into_bytes())
            }
            ']' | '{' | '}' | '#' => return Err(refused()),
            _ => {
                length = rest.find(is_special).unwrap_or(rest.len());
                Node::Literal(rest.as_bytes()[..length].to_vec())
            }
        };
        open.last_mut()
            .expect("the outermost steps are never closed")
            .push(node);
        rest = &rest[length..];
    }
    match <[Vec<Node>; 1]>::try_from(open) {
        Ok([nodes]) => Ok((nodes, pieces)),
        Err(_) => Err(format!("a bracket of the pattern {text:?} is not closed")),
    }
}

fn is_special(symbol: char) -> bool {
    symbol.is_ascii_alphabetic() || "'[]{}#".contains(symbol)
}

/// How often the first symbol is repeated; 0 if it is no letter.
fn run_of_letters(text: &str) -> usize {
    let first = text.bytes().next().filter(u8::is_ascii_alphabetic);
    text.bytes().take_while(|&byte| Some(byte) == first).count()
}

/// What a run of letters stands for. A number of any length leaves digits only to a number of fixed length that follows
/// it immediately.
fn piece(run: &str, behind: &str, names: &Names) -> Option<Piece> {
    let mut piece = meaning(run, names)?;
    if let Form::Digits { last, .. } | Form::Fraction { last, .. } = &mut piece.form {
        let (follower, _) = behind.split_at(run_of_letters(behind));
        let leaves = matches!(
            meaning(follower, names),
            Some(Piece {
                form: Form::Fixed { .. },
                ..
            })
        );
        *last = !leaves;
    }
    Some(piece)
}

/// Quoted text from its quote on, two quotes in it being one, and its length; empty text is a quote.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut said = String::new();
    let mut symbols = text.char_indices().skip(1).peekable();
    while let Some((at, symbol)) = symbols.next() {
        if symbol != '\'' {
            said.push(symbol);
        } else if symbols.next_if(|&(_, next)| next == '\'').is_some() {
            said.push('\'');
        } else {
            return Some((if said.is_empty() { "'".into() } else { said }, at + 1));
        }
    }
    None
}
