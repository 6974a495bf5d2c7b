//! What can be wrong with an expression.

/// What is wrong with an expression, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct ExpressionError {
    /// The place in the expression: characters, counted from 1.
    pub column: usize,
    /// What was met and what was expected.
    pub message: String,
}
