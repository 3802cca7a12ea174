"""The protocol part of a study record, as the service's study data structure lists it.

One line a field, indented by depth: JSON name (`[]` for a list), piece name, type. A line without a
type is a structure. Types: text, markup, boolean, integer, date (year-month[-day]), age (number and
unit), geo (lat, lon), or the name of an enumeration (see `enums`).
"""

PROTOCOL = """\
protocolSection ProtocolSection
 identificationModule IdentificationModule
  nctId NCTId text
  nctIdAliases[] NCTIdAlias text
  orgStudyIdInfo OrgStudyIdInfo
   id OrgStudyId text
   type OrgStudyIdType OrgStudyIdType
   link OrgStudyIdLink text
  secondaryIdInfos[] SecondaryIdInfo
   id SecondaryId text
   type SecondaryIdType SecondaryIdType
   domain SecondaryIdDomain text
   link SecondaryIdLink text
  briefTitle BriefTitle text
  officialTitle OfficialTitle text
  acronym Acronym text
  organization Organization
   fullName OrgFullName text
   class OrgClass AgencyClass
 statusModule StatusModule
  statusVerifiedDate StatusVerifiedDate date
  overallStatus OverallStatus Status
  lastKnownStatus LastKnownStatus Status
  delayedPosting DelayedPosting boolean
  whyStopped WhyStopped markup
  expandedAccessInfo ExpandedAccessInfo
   hasExpandedAccess HasExpandedAccess boolean
   nctId ExpandedAccessNCTId text
   statusForNctId ExpandedAccessStatusForNCTId ExpandedAccessStatus
  startDateStruct StartDateStruct
   date StartDate date
   type StartDateType DateType
  primaryCompletionDateStruct PrimaryCompletionDateStruct
   date PrimaryCompletionDate date
   type PrimaryCompletionDateType DateType
  completionDateStruct CompletionDateStruct
   date CompletionDate date
   type CompletionDateType DateType
  studyFirstSubmitDate StudyFirstSubmitDate date
  studyFirstSubmitQcDate StudyFirstSubmitQCDate date
  studyFirstPostDateStruct StudyFirstPostDateStruct
   date StudyFirstPostDate date
   type StudyFirstPostDateType DateType
  resultsWaived ResultsWaived boolean
  resultsFirstSubmitDate ResultsFirstSubmitDate date
  resultsFirstSubmitQcDate ResultsFirstSubmitQCDate date
  resultsFirstPostDateStruct ResultsFirstPostDateStruct
   date ResultsFirstPostDate date
   type ResultsFirstPostDateType DateType
  dispFirstSubmitDate DispFirstSubmitDate date
  dispFirstSubmitQcDate DispFirstSubmitQCDate date
  dispFirstPostDateStruct DispFirstPostDateStruct
   date DispFirstPostDate date
   type DispFirstPostDateType DateType
  lastUpdateSubmitDate LastUpdateSubmitDate date
  lastUpdatePostDateStruct LastUpdatePostDateStruct
   date LastUpdatePostDate date
   type LastUpdatePostDateType DateType
 sponsorCollaboratorsModule SponsorCollaboratorsModule
  responsibleParty ResponsibleParty
   type ResponsiblePartyType ResponsiblePartyType
   investigatorFullName ResponsiblePartyInvestigatorFullName text
   investigatorTitle ResponsiblePartyInvestigatorTitle text
   investigatorAffiliation ResponsiblePartyInvestigatorAffiliation text
   oldNameTitle ResponsiblePartyOldNameTitle text
   oldOrganization ResponsiblePartyOldOrganization text
  leadSponsor LeadSponsor
   name LeadSponsorName text
   class LeadSponsorClass AgencyClass
  collaborators[] Collaborator
   name CollaboratorName text
   class CollaboratorClass AgencyClass
 oversightModule OversightModule
  oversightHasDmc OversightHasDMC boolean
  isFdaRegulatedDrug IsFDARegulatedDrug boolean
  isFdaRegulatedDevice IsFDARegulatedDevice boolean
  isUnapprovedDevice IsUnapprovedDevice boolean
  isPpsd IsPPSD boolean
  isUsExport IsUSExport boolean
  fdaaa801Violation FDAAA801Violation boolean
 descriptionModule DescriptionModule
  briefSummary BriefSummary markup
  detailedDescription DetailedDescription markup
 conditionsModule ConditionsModule
  conditions[] Condition text
  keywords[] Keyword text
 designModule DesignModule
  studyType StudyType StudyType
  nPtrsToThisExpAccNctId NPtrsToThisExpAccNCTId integer
  expandedAccessTypes ExpandedAccessTypes
   individual ExpAccTypeIndividual boolean
   intermediate ExpAccTypeIntermediate boolean
   treatment ExpAccTypeTreatment boolean
  patientRegistry PatientRegistry boolean
  targetDuration TargetDuration age
  phases[] Phase Phase
  designInfo DesignInfo
   allocation DesignAllocation DesignAllocation
   interventionModel DesignInterventionModel InterventionalAssignment
   interventionModelDescription DesignInterventionModelDescription markup
   primaryPurpose DesignPrimaryPurpose PrimaryPurpose
   observationalModel DesignObservationalModel ObservationalModel
   timePerspective DesignTimePerspective DesignTimePerspective
   maskingInfo DesignMaskingInfo
    masking DesignMasking DesignMasking
    maskingDescription DesignMaskingDescription markup
    whoMasked[] DesignWhoMasked WhoMasked
  bioSpec BioSpec
   retention BioSpecRetention BioSpecRetention
   description BioSpecDescription markup
  enrollmentInfo EnrollmentInfo
   count EnrollmentCount integer
   type EnrollmentType EnrollmentType
 armsInterventionsModule ArmsInterventionsModule
  armGroups[] ArmGroup
   label ArmGroupLabel text
   type ArmGroupType ArmGroupType
   description ArmGroupDescription markup
   interventionNames[] ArmGroupInterventionName text
  interventions[] Intervention
   type InterventionType InterventionType
   name InterventionName text
   description InterventionDescription markup
   armGroupLabels[] InterventionArmGroupLabel text
   otherNames[] InterventionOtherName text
 outcomesModule OutcomesModule
  primaryOutcomes[] PrimaryOutcome
   measure PrimaryOutcomeMeasure text
   description PrimaryOutcomeDescription markup
   timeFrame PrimaryOutcomeTimeFrame text
  secondaryOutcomes[] SecondaryOutcome
   measure SecondaryOutcomeMeasure text
   description SecondaryOutcomeDescription markup
   timeFrame SecondaryOutcomeTimeFrame text
  otherOutcomes[] OtherOutcome
   measure OtherOutcomeMeasure text
   description OtherOutcomeDescription markup
   timeFrame OtherOutcomeTimeFrame text
 eligibilityModule EligibilityModule
  eligibilityCriteria EligibilityCriteria markup
  healthyVolunteers HealthyVolunteers boolean
  sex Sex Sex
  genderBased GenderBased boolean
  genderDescription GenderDescription markup
  minimumAge MinimumAge age
  maximumAge MaximumAge age
  stdAges[] StdAge StandardAge
  studyPopulation StudyPopulation markup
  samplingMethod SamplingMethod SamplingMethod
 contactsLocationsModule ContactsLocationsModule
  centralContacts[] CentralContact
   name CentralContactName text
   role CentralContactRole ContactRole
   phone CentralContactPhone text
   phoneExt CentralContactPhoneExt text
   email CentralContactEMail text
  overallOfficials[] OverallOfficial
   name OverallOfficialName text
   affiliation OverallOfficialAffiliation text
   role OverallOfficialRole OfficialRole
  locations[] Location
   facility LocationFacility text
   status LocationStatus RecruitmentStatus
   city LocationCity text
   state LocationState text
   zip LocationZip text
   country LocationCountry text
   contacts[] LocationContact
    name LocationContactName text
    role LocationContactRole ContactRole
    phone LocationContactPhone text
    phoneExt LocationContactPhoneExt text
    email LocationContactEMail text
   geoPoint LocationGeoPoint geo
 referencesModule ReferencesModule
  references[] Reference
   pmid ReferencePMID text
   type ReferenceType ReferenceType
   citation ReferenceCitation text
   retractions[] Retraction
    pmid RetractionPMID text
    source RetractionSource text
  seeAlsoLinks[] SeeAlsoLink
   label SeeAlsoLinkLabel text
   url SeeAlsoLinkURL text
  availIpds[] AvailIPD
   id AvailIPDId text
   type AvailIPDType text
   url AvailIPDURL text
   comment AvailIPDComment text
 ipdSharingStatementModule IPDSharingStatementModule
  ipdSharing IPDSharing IpdSharing
  description IPDSharingDescription markup
  infoTypes[] IPDSharingInfoType IpdSharingInfoType
  timeFrame IPDSharingTimeFrame markup
  accessCriteria IPDSharingAccessCriteria markup
  url IPDSharingURL text
"""
