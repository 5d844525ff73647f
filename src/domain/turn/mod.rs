//! Placeholder; see docs/PLAN.org.
