//! Projects in what a caller sends.

use neap_core::base::project_id::ProjectId;
use neap_core::recall::ProjectFilter;

use super::problem::{Problem, quoted};

/// `project` asks for what belongs to it, or to none; `here` takes that first, and what bears strongly of others.
pub(super) fn project_filter(project: Option<&str>, here: Option<&str>) -> Result<Option<ProjectFilter>, Problem> {
    match (project, here) {
        (Some(_), Some(_)) => Err(Problem::bad_request("give 'project' or 'here', not both")),
        (Some(name), None) => project_id(name).map(|project| Some(ProjectFilter::Only(project))),
        (None, Some(name)) => project_id(name).map(|project| Some(ProjectFilter::First(project))),
        (None, None) => Ok(None),
    }
}

pub(super) fn project_id(name: &str) -> Result<ProjectId, Problem> {
    ProjectId::from_name(name)
        .map_err(|error| Problem::bad_request(format!("'{}' is no project's name: {error}", quoted(name))))
}
