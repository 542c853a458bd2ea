//! Data processing kernels.

use pragma_runtime::pragma_kernel;

/// Number of occurrences of a byte.
#[pragma_kernel(
    shape(hay = [n]),
    tune(n = 33554432, needle = 44),
)]
pub fn count_byte(hay: &[u8], needle: u8) -> usize {
    hay.iter().fold(0, |n, &b| n + (b == needle) as usize)
}

const fn crc_tables() -> [[u32; 256]; 4] {
    let mut t = [[0u32; 256]; 4];
    let mut i = 0;
    while i < 256 {
        let mut c = i as u32;
        let mut k = 0;
        while k < 8 {
            c = if c & 1 != 0 {
                (c >> 1) ^ 0xEDB8_8320
            } else {
                c >> 1
            };
            k += 1;
        }
        t[0][i] = c;
        i += 1;
    }
    let mut i = 0;
    while i < 256 {
        let mut j = 1;
        while j < 4 {
            t[j][i] = (t[j - 1][i] >> 8) ^ t[0][(t[j - 1][i] & 0xFF) as usize];
            j += 1;
        }
        i += 1;
    }
    t
}

static CRC: [[u32; 256]; 4] = crc_tables();

/// CRC-32 (IEEE) by slicing-by-4 table lookup.
#[pragma_kernel(
    shape(data = [n]),
    tune(n = 8388608),
)]
pub fn crc32(data: &[u8]) -> u32 {
    let mut crc = !0u32;
    let mut buf = data;
    while buf.len() >= 4 {
        let w = u32::from_le_bytes([buf[0], buf[1], buf[2], buf[3]]) ^ crc;
        crc = CRC[3][(w & 0xFF) as usize]
            ^ CRC[2][((w >> 8) & 0xFF) as usize]
            ^ CRC[1][((w >> 16) & 0xFF) as usize]
            ^ CRC[0][(w >> 24) as usize];
        buf = &buf[4..];
    }
    for &b in buf {
        crc = CRC[0][((crc ^ b as u32) & 0xFF) as usize] ^ (crc >> 8);
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_byte_small() {
        assert_eq!(count_byte(b"a,b,,c", b','), 3);
    }

    #[test]
    fn crc32_small() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
