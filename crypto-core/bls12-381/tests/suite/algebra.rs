//! Scalars, points, sums of products and pairings against their laws and their naive forms.
use prefinal_bls12_381::hazmat::{
    FixedBase, Gt, MillerLoop, batch_invert, check_pairing_product, multiply_each, pairing,
    pairing_product, vartime_msm, vartime_msm_128, vartime_msm_bytes,
};
use prefinal_bls12_381::{
    Affine, G1, G1Affine, G1Projective, G2, G2Affine, G2Projective, Group, PairingMismatch,
    Projective, Scalar,
};
use rand_core::Rng;

use super::{ORDER, random_point, random_points, rng};

#[test]
fn scalars_form_a_field() {
    let mut rng = rng();
    let (a, b, c) = (Scalar::random(&mut rng), Scalar::random(&mut rng), Scalar::random(&mut rng));
    assert_eq!(a * (b + c), a * b + a * c);
    assert_eq!(a - b, -(b - a));
    assert_eq!(a + -a, Scalar::ZERO);
    assert_eq!(a * a.invert().unwrap(), Scalar::ONE);
    assert_eq!(Scalar::ZERO.invert(), None);
    assert_eq!(Scalar::ONE * a, a);
    assert_eq!(Scalar::from_u64(1), Scalar::ONE);
    assert_eq!(a.vartime_pow(5), a * a * a * a * a);
    assert_eq!((a.vartime_pow(0), a.vartime_pow(1)), (Scalar::ONE, a));
    assert_eq!([a, b, c].into_iter().sum::<Scalar>(), a + b + c);
    assert_eq!([a, b, c].into_iter().product::<Scalar>(), a * b * c);
    assert_eq!(&Scalar::from_u64(u64::MAX).to_bytes()[24..], &[0xff; 8]);
}

#[test]
fn wide_numbers_are_reduced() {
    let mut wide = [0; 64];
    wide[32..].copy_from_slice(&hex::decode(ORDER).unwrap());
    assert_eq!(Scalar::from_wide(&wide), Scalar::ZERO);
    wide[63] += 4;
    assert_eq!(Scalar::from_wide(&wide), Scalar::from_u64(4));
    let two_to_512 = Scalar::from_u64(2).vartime_pow(512);
    assert_eq!(Scalar::from_wide(&[0xff; 64]), two_to_512 - Scalar::ONE);
}

#[test]
fn a_batch_of_inverses_skips_zeros() {
    let mut rng = rng();
    let mut scalars: Vec<Scalar> = (0..9).map(|_| Scalar::random(&mut rng)).collect();
    scalars[0] = Scalar::ZERO;
    scalars[4] = Scalar::ZERO;
    let expected: Vec<Scalar> =
        scalars.iter().map(|scalar| scalar.invert().unwrap_or(Scalar::ZERO)).collect();
    batch_invert(&mut scalars);
    assert_eq!(scalars, expected);
    batch_invert(&mut []);
}

fn group_laws<G: Group>() {
    let mut rng = rng();
    let (p, q): (Affine<G>, Affine<G>) = (random_point(&mut rng), random_point(&mut rng));
    let (a, b) = (Scalar::random(&mut rng), Scalar::random(&mut rng));
    let (jp, jq) = (Projective::from(p), Projective::from(q));
    assert_eq!(p + q, jq + jp);
    assert_eq!(jp + p, jp.double());
    assert_eq!(p - Affine::from(jp), Projective::identity());
    assert_eq!(jp - Projective::from(p), Projective::identity());
    assert_eq!(jp + Projective::identity(), jp);
    assert_eq!(Projective::identity() + p, jp);
    assert_eq!(jp + Affine::identity(), jp);
    assert_eq!(-jp + p, Projective::identity());
    assert!((-Affine::<G>::identity()).is_identity());
    assert_eq!(p * (a + b), p * a + p * b);
    assert_eq!((p * a) * b, p * (a * b));
    assert_eq!(p * Scalar::from_u64(2), jp.double());
    assert_eq!(p * -Scalar::ONE, -jp);
    assert!((p * Scalar::ZERO).is_identity());
    assert!((Affine::<G>::identity() * a).is_identity());
    assert_eq!([jp, jq].into_iter().sum::<Projective<G>>(), jp + jq);
    assert_eq!([p, q, q].into_iter().sum::<Projective<G>>(), jp + jq.double());
    assert_ne!(p, q);
    assert_ne!(jp, jq);
}

#[test]
fn points_form_groups() {
    group_laws::<G1>();
    group_laws::<G2>();
}

fn batches_normalize<G: Group>() {
    let mut rng = rng();
    let identity = Projective::<G>::identity();
    let mut points: Vec<Projective<G>> =
        (0..5).map(|_| Affine::generator() * Scalar::random(&mut rng)).collect();
    points.insert(0, identity);
    points.insert(3, identity);
    points.push(identity);
    for range in [0..0, 0..1, 1..2, 0..4, 0..8, 7..8] {
        let affine = Projective::batch_to_affine(&points[range.clone()]);
        let expected: Vec<Affine<G>> =
            points[range.clone()].iter().map(Projective::to_affine).collect();
        assert_eq!(affine, expected, "{range:?}");
    }
}

#[test]
fn batches_with_infinity_normalize() {
    batches_normalize::<G1>();
    batches_normalize::<G2>();
}

fn sums_match_naive_ones<G: Group>() {
    let mut rng = rng();
    let mut points = random_points::<G>(40, &mut rng);
    let mut scalars: Vec<Scalar> = (0..40).map(|_| Scalar::random(&mut rng)).collect();
    let mut small: Vec<u128> =
        (0..40).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).collect();
    // Infinity first, last and inside; equal points, opposite points; zero, one, largest scalar.
    (points[0], points[5], points[39]) =
        (Affine::identity(), Affine::identity(), Affine::identity());
    (points[7], points[8]) = (points[6], -points[6]);
    (scalars[7], scalars[8]) = (scalars[6], scalars[6]);
    (scalars[1], scalars[2], scalars[3]) = (Scalar::ZERO, Scalar::ONE, -Scalar::ONE);
    (small[1], small[2], small[3]) = (0, 1, u128::MAX);
    let wide = |value: &u128| {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&value.to_be_bytes());
        Scalar::from_bytes(&bytes).unwrap()
    };
    for range in [0..0, 0..1, 1..2, 2..3, 3..4, 4..6, 5..6, 6..9, 1..32, 0..32, 0..33, 0..40] {
        let naive = |scalar: &dyn Fn(usize) -> Scalar| {
            range.clone().map(|i| points[i] * scalar(i)).sum::<Projective<G>>()
        };
        let (p, s, c) = (&points[range.clone()], &scalars[range.clone()], &small[range.clone()]);
        assert_eq!(vartime_msm(p, s), naive(&|i| scalars[i]), "{range:?}");
        assert_eq!(vartime_msm_128(p, c), naive(&|i| wide(&small[i])), "{range:?}");
    }
    let identities = [Affine::<G>::identity(); 3];
    assert!(vartime_msm(&identities, &scalars[..3]).is_identity());
    // The shorter slice decides.
    assert_eq!(vartime_msm(&points, &scalars[..4]), vartime_msm(&points[..4], &scalars));
    assert!(vartime_msm(&points, &[]).is_identity());
}

#[test]
fn sums_of_products_match_naive_ones() {
    sums_match_naive_ones::<G1>();
    sums_match_naive_ones::<G2>();
}

/// Where buckets of libraries read past their arrays, or lose points beside infinity.
fn one_term_is_a_product<G: Group>() {
    let mut rng = rng();
    let (point, none) = (random_point::<G>(&mut rng), Affine::identity());
    for bits in [1_usize, 7, 8, 9, 64, 127, 128, 255] {
        let mut scalar = Scalar::random(&mut rng).to_bytes();
        scalar.reverse();
        for (place, byte) in scalar.iter_mut().enumerate() {
            let left = bits.saturating_sub(8 * place).min(8);
            *byte &= u8::try_from((1_u16 << left) - 1).unwrap();
        }
        let mut bytes = scalar;
        bytes.reverse();
        let product = point * Scalar::from_bytes(&bytes).unwrap();
        assert_eq!(vartime_msm_bytes(&[point], &[scalar]), product, "{bits} bits");
        for beside in [vec![none, point], vec![point, none], vec![none, none, point, none]] {
            let scalars = vec![scalar; beside.len()];
            assert_eq!(vartime_msm_bytes(&beside, &scalars), product, "{bits} bits");
        }
    }
}

#[test]
fn a_sum_of_one_term_is_a_product_and_infinity_adds_nothing() {
    one_term_is_a_product::<G1>();
    one_term_is_a_product::<G2>();
}

/// Zero, small and large ones, those with few bits or many, and for a table and a single point those whose
/// last addition doubles.
fn special_scalars() -> Vec<Scalar> {
    let power = |exponent| Scalar::from_u64(2).vartime_pow(exponent);
    let doubled = [-Scalar::from_u64(51) * power(252), Scalar::from_u64(30)];
    let small = (0..70).map(Scalar::from_u64).flat_map(|scalar| [scalar, -scalar]);
    let bits = (6..255)
        .flat_map(|exponent| [power(exponent), power(exponent) - Scalar::ONE, -power(exponent)]);
    doubled.into_iter().chain(small).chain(bits).collect()
}

fn fixed_base_matches<G: Group>() {
    let mut rng = rng();
    let point: Affine<G> = random_point(&mut rng);
    let table = FixedBase::new(&point);
    let random = (0..9).map(|_| Scalar::random(&mut rng));
    let scalars: Vec<_> = special_scalars().into_iter().chain(random).collect();
    let expected: Vec<_> = scalars.iter().map(|scalar| point * scalar).collect();
    for (scalar, expected) in scalars.iter().zip(&expected) {
        assert_eq!(table.multiply(scalar), *expected);
    }
    let products = Projective::batch_to_affine(&expected);
    // One by one, eight at a time, with places that are left over, and more than are done at once.
    for count in [0, 1, 23, 24, 25, 31, 32, scalars.len()] {
        assert_eq!(table.multiply_all(&scalars[..count]), products[..count]);
    }
    let nothing = FixedBase::<G>::new(&Affine::identity());
    assert!(nothing.multiply(&scalars[9]).is_identity());
    assert!(nothing.multiply_all(&scalars).iter().all(Affine::is_identity));
}

#[test]
fn fixed_base_tables_match_plain_multiplication() {
    fixed_base_matches::<G1>();
    fixed_base_matches::<G2>();
}

fn low_bits_match<G: Group>() {
    let mut rng = rng();
    let point: Affine<G> = random_point(&mut rng);
    let table = FixedBase::new(&point);
    for bits in [1, 5, 6, 7, 16, 63, 64, 246, 250, 252, 255, 300] {
        let windows = u64::from(bits).div_ceil(6);
        let power = |exponent| Scalar::from_u64(2).vartime_pow(exponent);
        let small = |number: u64| Scalar::from_u64(number & (u64::MAX >> (64 - bits.min(63))));
        let mut scalars: Vec<_> = (0..30).map(|_| small(rng.next_u64())).collect();
        // Those whose last addition is an exception, and what is above the bits.
        let doubled = Scalar::from_u64(63) * power(6 * (windows - 1));
        let above = if windows < 42 { power(6 * windows) } else { Scalar::ZERO };
        let expected: Vec<_> = scalars.iter().map(|scalar| point * scalar).collect();
        scalars.iter_mut().step_by(3).for_each(|scalar| *scalar += above);
        scalars.extend([Scalar::ZERO, above, doubled, doubled + above]);
        let (zero, doubled) = (Projective::identity(), point * doubled);
        let mut expected = expected;
        expected.extend([zero, zero, doubled, doubled]);
        for (scalar, expected) in scalars.iter().zip(&expected) {
            assert_eq!(table.multiply_low(scalar, bits), *expected, "{bits} bits");
        }
        let products = table.multiply_all_low(&scalars, bits);
        assert_eq!(products, Projective::batch_to_affine(&expected), "{bits} bits");
    }
    assert!(table.multiply_low(&Scalar::ONE, 0).is_identity());
    let nothing = table.multiply_all_low(&[Scalar::ONE; 30], 0);
    assert_eq!(nothing, [Affine::identity(); 30]);
}

#[test]
fn of_short_scalars_only_the_low_bits_are_read() {
    low_bits_match::<G1>();
    low_bits_match::<G2>();
}

fn each_matches<G: Group>() {
    let mut rng = rng();
    let scalars = special_scalars();
    let mut points: Vec<Affine<G>> = scalars.iter().map(|_| random_point(&mut rng)).collect();
    points[1] = Affine::identity();
    points[70] = Affine::identity();
    points[30] = points[31];
    points[32] = -points[31];
    let expected = points.iter().zip(&scalars).map(|(point, scalar)| *point * scalar);
    let expected = Projective::batch_to_affine(&expected.collect::<Vec<_>>());
    for count in [0, 1, 23, 24, 25, 31, 32, scalars.len()] {
        assert_eq!(multiply_each(&points[..count], &scalars[..count]), expected[..count]);
    }
    assert_eq!(multiply_each(&points, &scalars[..30]), expected[..30]);
    assert_eq!(multiply_each(&points[..30], &scalars), expected[..30]);
}

#[test]
fn many_products_match_plain_multiplication() {
    each_matches::<G1>();
    each_matches::<G2>();
}

#[test]
fn the_pairing_is_bilinear_and_not_trivial() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let (a, b) = (Scalar::random(&mut rng), Scalar::random(&mut rng));
    let scaled = pairing(&(p * a).to_affine(), &(q * b).to_affine());
    assert_eq!(scaled, pairing(&p, &q).vartime_pow(&(a * b)));
    assert_eq!(scaled, pairing(&(p * b).to_affine(), &(q * a).to_affine()));
    assert_ne!(scaled, pairing(&p, &q));
    assert_ne!(pairing(&p, &q), Gt::one());
    assert_eq!(pairing(&-p, &q), pairing(&p, &q).invert());
    assert_eq!(pairing(&p, &q).vartime_pow(&Scalar::ZERO), Gt::one());
}

#[test]
fn pairings_with_the_identity_are_one_wherever_they_stand() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let left = (G1Affine::identity(), q);
    let right = (p, G2Affine::identity());
    for terms in [vec![left], vec![right], vec![left, right]] {
        assert_eq!(pairing_product(&terms), Gt::one());
    }
    for terms in [vec![left, (p, q)], vec![(p, q), right], vec![left, (p, q), right]] {
        assert_eq!(pairing_product(&terms), pairing(&p, &q));
    }
    assert_eq!(pairing_product(&[]), Gt::one());
}

#[test]
fn products_of_pairings_match_at_every_length() {
    let mut rng = rng();
    let terms: Vec<_> =
        (0..40).map(|_| (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng))).collect();
    let mut expected = Gt::one();
    for (length, (p, q)) in (1..).zip(&terms) {
        expected *= pairing(p, q);
        assert_eq!(pairing_product(&terms[..length]), expected, "{length} terms");
    }
    for length in [256, 265] {
        let expected = pairing(&terms[0].0, &terms[0].1).vartime_pow(&Scalar::from_u64(length));
        let many = (0..length).map(|_| terms[0]);
        assert_eq!(MillerLoop::from_terms(many).final_exponentiation(), expected);
    }
    let (first, second) = terms.split_at(9);
    let merged = MillerLoop::from_terms(first.iter().copied())
        * MillerLoop::from_terms(second.iter().copied());
    assert_eq!(merged.final_exponentiation(), pairing_product(&terms));
}

#[test]
fn the_identity_counts_for_nothing_at_any_place() {
    let mut rng = rng();
    let terms: Vec<_> =
        (0..11).map(|_| (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng))).collect();
    for place in 0..terms.len() {
        let mut others = terms.clone();
        let (p, q) = others.remove(place);
        let expected = pairing_product(&others);
        for term in [(p, G2Affine::identity()), (G1Affine::identity(), q)] {
            others.insert(place, term);
            assert_eq!(pairing_product(&others), expected, "at {place}");
            others.remove(place);
        }
    }
    for count in [8, 17] {
        let nothing = vec![(G1Affine::identity(), terms[0].1); count];
        assert_eq!(pairing_product(&nothing), Gt::one());
        let single = [nothing, vec![terms[1]]].concat();
        assert_eq!(pairing_product(&single), pairing(&terms[1].0, &terms[1].1));
    }
}

#[test]
fn long_equations_hold_or_do_not() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    for count in 2..20 {
        let scalars: Vec<_> = (0..count).map(|_| Scalar::random(&mut rng)).collect();
        let mut terms: Vec<_> = scalars.iter().map(|s| ((p * *s).to_affine(), q)).collect();
        let sum = scalars.iter().fold(Scalar::ZERO, |sum, one| sum + *one);
        terms.push((-p, (q * sum).to_affine()));
        assert_eq!(check_pairing_product(terms.clone()), Ok(()), "{count}");
        terms[count - 1].0 = (p * (scalars[count - 1] + Scalar::ONE)).to_affine();
        assert_eq!(check_pairing_product(terms), Err(PairingMismatch), "{count}");
    }
    // Equal points, and pairs that cancel out.
    let repeated = [vec![(p, q); 9], vec![(-p, q); 9]].concat();
    assert_eq!(check_pairing_product(repeated.clone()), Ok(()));
    assert_eq!(check_pairing_product(repeated[1..].to_vec()), Err(PairingMismatch));
}

#[test]
fn equations_hold_or_do_not() {
    let mut rng = rng();
    let (p, q) = (random_point::<G1>(&mut rng), random_point::<G2>(&mut rng));
    let a = Scalar::random(&mut rng);
    let good = [((p * a).to_affine(), q), (-p, (q * a).to_affine())];
    assert_eq!(check_pairing_product(good), Ok(()));
    assert_eq!(check_pairing_product([]), Ok(()));
    let bad = [good[0], (p, good[1].1)];
    assert_eq!(check_pairing_product(bad), Err(PairingMismatch));
    assert_eq!(check_pairing_product([good[0]]), Err(PairingMismatch));
}

#[test]
fn points_and_scalars_are_not_printed() {
    let scalar = Scalar::random(&mut rng());
    let (p, q) = (G1Projective::generator() * scalar, G2Projective::generator() * scalar);
    let printed = format!("{scalar:?} {p:?} {q:?} {:?}", p.to_affine());
    assert_eq!(printed, "Scalar(..) Projective(..) Projective(..) Affine(..)");
}
