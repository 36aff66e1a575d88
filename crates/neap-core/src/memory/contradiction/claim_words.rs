//! Verbs by which claims in other words are recognized. Stems, as [`terms`](crate::text::terms::terms) gives them.

use super::word::SentenceWord;

/// What a statement says of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// `is`: an attribute, a state.
    Is,
    /// `is in`, `is at`, `is on`: a place or a time.
    At,
    Name,
    Home,
    Work,
    When,
    Use,
    Made,
    Has,
    /// A number behind any other verb.
    Measure,
}

const VERBS: &[(Relation, &str)] = &[
    (Relation::Name, "call name rename titl dub"),
    (Relation::Home, "live resid base locat host situat park hous stay headquart"),
    (Relation::Work, "work employ"),
    (Relation::When, "schedul plan due happen slate book"),
    (Relation::Use, "use hire"),
    (Relation::Made, "written wrote built made develop implement"),
    (Relation::Has, "has have own hold seat count contain compris"),
    (
        Relation::Measure,
        "cost take last need requir expir weigh measur leav start begin close open run end carri keep kept limit store earn",
    ),
];

/// How a statement says that something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// Of a place or a time.
    Move,
    Postpone,
    Rename,
    /// Of a number.
    Resize,
    /// Of what is used.
    Switch,
    Rewrite,
    Reassign,
    Any,
}

const CHANGES: &[(ChangeKind, &str)] = &[
    (ChangeKind::Move, "move reloc shift transfer"),
    (ChangeKind::Postpone, "postpon reschedul push delay adjourn slip defer brought"),
    (ChangeKind::Rename, "renam rebrand"),
    (
        ChangeKind::Resize,
        "rais lower increas reduc cut bump extend shorten grow grown grew rose risen drop fell doubl tripl halv expand \
         shrink shrunk upgrad downgrad",
    ),
    (ChangeKind::Switch, "switch migrat"),
    (ChangeKind::Rewrite, "rewritten rewrot port"),
    (ChangeKind::Reassign, "reassign"),
    (ChangeKind::Any, "chang updat set reset went adjust"),
];

pub(super) fn relation_of(word: &SentenceWord) -> Option<Relation> {
    VERBS.iter().find(|(_, list)| word.is_listed(list)).map(|(relation, _)| *relation)
}

pub(super) fn change_of(word: &SentenceWord) -> Option<ChangeKind> {
    CHANGES.iter().find(|(_, list)| word.is_listed(list)).map(|(kind, _)| *kind)
}

impl ChangeKind {
    /// Whether it can change what the older statement says.
    pub(super) fn changes(self, relation: Relation) -> bool {
        match (self, relation) {
            (ChangeKind::Move, Relation::Home | Relation::At | Relation::When | Relation::Is | Relation::Use)
            | (ChangeKind::Postpone, Relation::At | Relation::When | Relation::Is)
            | (ChangeKind::Rename, Relation::Name)
            | (ChangeKind::Resize, Relation::Is | Relation::Has | Relation::Measure | Relation::At)
            | (
                ChangeKind::Switch,
                Relation::Use | Relation::Home | Relation::Is | Relation::Work | Relation::Made,
            )
            | (ChangeKind::Rewrite, Relation::Made)
            | (ChangeKind::Reassign, Relation::Is) => true,
            (ChangeKind::Any, relation) => relation != Relation::Use,
            (
                ChangeKind::Move
                | ChangeKind::Postpone
                | ChangeKind::Rename
                | ChangeKind::Resize
                | ChangeKind::Switch
                | ChangeKind::Rewrite
                | ChangeKind::Reassign,
                Relation::Is
                | Relation::At
                | Relation::Name
                | Relation::Home
                | Relation::Work
                | Relation::When
                | Relation::Use
                | Relation::Made
                | Relation::Has
                | Relation::Measure,
            ) => false,
        }
    }
}
