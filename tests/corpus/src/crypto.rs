//! Cipher-like kernels.

use pragma_runtime::pragma_kernel;

/// XORs data with a repeating key, in place.
#[pragma_kernel(
    shape(data = [n], key = [k]),
    tune(n = 4194304, k = 16),
)]
pub fn xor_repeat_key(data: &mut [u8], key: &[u8]) {
    if key.is_empty() {
        return;
    }
    for i in 0..data.len() {
        data[i] ^= key[i % key.len()];
    }
}

fn quarter_round(s: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    s[a] = s[a].wrapping_add(s[b]);
    s[d] = (s[d] ^ s[a]).rotate_left(16);
    s[c] = s[c].wrapping_add(s[d]);
    s[b] = (s[b] ^ s[c]).rotate_left(12);
    s[a] = s[a].wrapping_add(s[b]);
    s[d] = (s[d] ^ s[a]).rotate_left(8);
    s[c] = s[c].wrapping_add(s[d]);
    s[b] = (s[b] ^ s[c]).rotate_left(7);
}

/// ChaCha20 (RFC 8439): XORs the keystream from block `counter` into `data`.
#[pragma_kernel(
    shape(data = [n]),
    tune(n = 8388608, counter = 1),
)]
pub fn chacha20_xor(key: &[u32; 8], nonce: &[u32; 3], counter: u32, data: &mut [u8]) {
    let mut init = [0u32; 16];
    init[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    init[4..12].copy_from_slice(key);
    init[13..].copy_from_slice(nonce);
    for (n, block) in data.chunks_mut(64).enumerate() {
        init[12] = counter.wrapping_add(n as u32);
        let mut s = init;
        for _ in 0..10 {
            quarter_round(&mut s, 0, 4, 8, 12);
            quarter_round(&mut s, 1, 5, 9, 13);
            quarter_round(&mut s, 2, 6, 10, 14);
            quarter_round(&mut s, 3, 7, 11, 15);
            quarter_round(&mut s, 0, 5, 10, 15);
            quarter_round(&mut s, 1, 6, 11, 12);
            quarter_round(&mut s, 2, 7, 8, 13);
            quarter_round(&mut s, 3, 4, 9, 14);
        }
        for (i, byte) in block.iter_mut().enumerate() {
            let word = s[i / 4].wrapping_add(init[i / 4]);
            *byte ^= (word >> (8 * (i % 4))) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xor_repeat_key_small() {
        let mut d = [1, 2, 3];
        xor_repeat_key(&mut d, &[1, 0xFF]);
        assert_eq!(d, [0, 0xFD, 2]);
        xor_repeat_key(&mut d, &[]);
        assert_eq!(d, [0, 0xFD, 2]);
    }

    #[test]
    fn chacha20_xor_small() {
        // RFC 8439 section 2.3.2: the keystream block for counter 1.
        let mut key = [0u32; 8];
        for i in 0..8 {
            let b = 4 * i as u32;
            key[i] = b | (b + 1) << 8 | (b + 2) << 16 | (b + 3) << 24;
        }
        let mut data = [0u8; 70];
        chacha20_xor(&key, &[0x0900_0000, 0x4a00_0000, 0], 1, &mut data);
        assert_eq!(data[..8], [0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15]);
        assert_eq!(data[60..64], [0xa2, 0x50, 0x3c, 0x4e]);
    }
}
