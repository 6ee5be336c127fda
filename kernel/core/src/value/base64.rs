//! Bytes written as letters.

/// Append what a text says in Base64 to `bytes`, which is left as it was if it says nothing.
pub fn decode(text: &str, bytes: &mut Vec<u8>) -> Option<()> {
    let text = text.as_bytes();
    let digits = text
        .iter()
        .position(|&byte| byte == b'=')
        .unwrap_or(text.len());
    let (digits, padding) = text.split_at(digits);
    if padding.iter().any(|&byte| byte != b'=') {
        return None;
    }
    match (digits.len() % 4, padding.len()) {
        (0, 0) | (2, 2) | (3, 1) => {}
        _ => return None,
    }
    let before = bytes.len();
    for group in digits.chunks(4) {
        let Some(word) = word(group) else {
            bytes.truncate(before);
            return None;
        };
        bytes.extend_from_slice(&word[..group.len() - 1]);
    }
    Some(())
}

/// The three bytes of up to four digits; those that are missing count as zero.
fn word(group: &[u8]) -> Option<[u8; 3]> {
    let mut bits = 0u32;
    for place in 0..4 {
        let value = group.get(place).map_or(Some(0), |&byte| digit(byte))?;
        bits = bits << 6 | u32::from(value);
    }
    let [_, first, second, third] = bits.to_be_bytes();
    Some([first, second, third])
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole() {
        for (text, expected) in [
            ("", ""),
            ("YQ==", "a"),
            ("YR==", "a"),
            ("YWI=", "ab"),
            ("YWJj", "abc"),
            ("YWJjZA==", "abcd"),
        ] {
            let mut bytes = b"x".to_vec();
            assert_eq!(decode(text, &mut bytes), Some(()), "{text}");
            assert_eq!(bytes, format!("x{expected}").as_bytes());
        }
        for text in [
            "=", "YQ", "YQ=", "YQ===", "Y", "Y===", "YW-_", "YQ==YQ==", "YQ=a", "YWJjé", "YW Jj",
            "YWJj-===", "YWJj=", "YWJj==",
        ] {
            let mut bytes = b"x".to_vec();
            assert_eq!(decode(text, &mut bytes), None, "{text}");
            assert_eq!(bytes, b"x");
        }
    }
}
