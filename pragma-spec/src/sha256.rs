//! SHA-256 as FIPS 180-4 defines it.
//!
//! By hand, because every user of the macro compiles this crate: the usual crates for it are seven more, a fifth of
//! the whole build. Nothing here is secret, so constant time is no concern. The tests compare it with `sha2`.

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = fractions_of_roots::<64>(3);

/// The same of the square roots of the first 8 primes.
const INITIAL: [u32; 8] = fractions_of_roots::<8>(2);

/// The first 32 bits of the fractional part of the `degree`th root of each of the first `N` primes.
const fn fractions_of_roots<const N: usize>(degree: u32) -> [u32; N] {
    let mut out = [0; N];
    let (mut count, mut candidate) = (0, 2);
    while count < N {
        if is_prime(candidate) {
            out[count] = fraction_of_root(candidate, degree);
            count += 1;
        }
        candidate += 1;
    }
    out
}

const fn is_prime(n: u128) -> bool {
    let mut divisor = 2;
    while divisor * divisor <= n {
        if n.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    true
}

/// The integer root of `n * 2^(32 * degree)`, by bisection, without its integer part.
const fn fraction_of_root(n: u128, degree: u32) -> u32 {
    let target = n << (32 * degree);
    // No root of a prime below 312 is 2^5 or more, so these bounds hold, and no power of them overflows.
    let (mut low, mut high) = (0u128, 1u128 << 37);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if middle.pow(degree) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low & 0xffff_ffff) as u32
}

/// The hash of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut state = INITIAL;
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        compress(&mut state, block);
    }
    // One bit, zeros, and the length in bits fill up the last one or two blocks.
    let mut tail = [0u8; 128];
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    tail[end - 8..end].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in tail[..end].as_chunks::<64>().0 {
        compress(&mut state, block);
    }
    let mut out = [0; 32];
    for (out, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *out = word.to_be_bytes();
    }
    out
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut schedule = [0u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        let (a, b) = (schedule[t - 15], schedule[t - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        schedule[t] = schedule[t - 16]
            .wrapping_add(s0)
            .wrapping_add(schedule[t - 7])
            .wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (round, word) in ROUNDS.iter().zip(schedule) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let t1 = h
            .wrapping_add(s1)
            .wrapping_add(choice)
            .wrapping_add(*round)
            .wrapping_add(word);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let t2 = s0.wrapping_add(majority);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    #[test]
    fn constants_are_those_of_the_standard() {
        assert_eq!(INITIAL[0], 0x6a09_e667);
        assert_eq!(INITIAL[7], 0x5be0_cd19);
        assert_eq!(ROUNDS[0], 0x428a_2f98);
        assert_eq!(ROUNDS[63], 0xc671_78f2);
    }

    #[test]
    fn every_length_around_the_block_size_agrees_with_sha2() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 13) as u8).collect();
        for length in (0..300).chain([511, 512, 513, 1000]) {
            let expected: [u8; 32] = sha2::Sha256::digest(&bytes[..length]).into();
            assert_eq!(sha256(&bytes[..length]), expected, "{length}");
        }
    }
}
