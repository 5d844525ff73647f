//! One vector, checked: finite, not empty, of length 1.

/// The most numbers that a vector may have; no model in use has more.
pub const MOST_DIMENSIONS: usize = 8192;

/// A vector of length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Box<[f32]>);

/// Why numbers are no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongVector {
    /// There are none, or too many.
    #[error("a vector has {0} numbers")]
    Length(usize),
    /// One of them is none, or infinite.
    #[error("a vector holds what is no number")]
    NotFinite,
    /// It points nowhere.
    #[error("a vector is all zero")]
    Zero,
}

impl Vector {
    /// Brings numbers to length 1.
    ///
    /// # Errors
    /// When there are none or more than [`MOST_DIMENSIONS`], one is not finite, or all are 0.
    pub fn new(numbers: Vec<f32>) -> Result<Vector, WrongVector> {
        if numbers.is_empty() || numbers.len() > MOST_DIMENSIONS {
            return Err(WrongVector::Length(numbers.len()));
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(WrongVector::NotFinite);
        }
        // In double precision, and after the largest is taken out, no square is too large or too small to add up.
        let largest = numbers.iter().fold(0f32, |most, number| most.max(number.abs()));
        if largest == 0.0 {
            return Err(WrongVector::Zero);
        }
        let part = |number: &f32| f64::from(*number) / f64::from(largest);
        let length = numbers.iter().map(|number| part(number).powi(2)).sum::<f64>().sqrt();
        Ok(Vector(numbers.iter().map(|number| (part(number) / length) as f32).collect()))
    }

    /// Returns the numbers.
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// Returns how many there are.
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Returns the cosine with another vector; 0 when they are of different dimensions.
    pub fn cosine(&self, other: &Vector) -> f32 {
        if self.dimension() == other.dimension() { dot(&self.0, &other.0) } else { 0.0 }
    }
}

/// Returns the sum of products, in eight lanes that a compiler can take at once.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_direction_is_no_vector() {
        for (numbers, expected) in [
            (vec![], WrongVector::Length(0)),
            (vec![1.0; MOST_DIMENSIONS + 1], WrongVector::Length(MOST_DIMENSIONS + 1)),
            (vec![1.0, f32::NAN], WrongVector::NotFinite),
            (vec![f32::INFINITY, 1.0], WrongVector::NotFinite),
            (vec![0.0, -0.0], WrongVector::Zero),
        ] {
            assert_eq!(Vector::new(numbers), Err(expected));
        }
    }

    #[test]
    fn numbers_of_any_size_come_to_length_one() {
        for size in [f32::MIN_POSITIVE, 1e-20, 1.0, 1e20, f32::MAX] {
            let vector = Vector::new(vec![3.0 / 5.0 * size, -4.0 / 5.0 * size]).expect("it points somewhere");
            let expected = [0.6, -0.8];
            assert!(vector.numbers().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3), "{size}: {vector:?}");
            assert!((vector.cosine(&vector) - 1.0).abs() < 1e-6, "{size}");
        }
    }
}
